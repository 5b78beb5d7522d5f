// Schemas: one TypeBox schema gives type, validation, serialisation and the OpenAPI description of a message.

export { type Static, type TObject, type TSchema, Type } from 'typebox';
