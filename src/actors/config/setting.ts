// Setting: how one configuration key is declared. The declarations themselves are in `settings.ts`.
// T1 `schema` is the type as well as the bounds: a value that does not fit is never stored and never read back.
// T2 `expected` says in words what the schema asks for; it ends the sentence "must be …" of an error.

import { type Static, type TSchema, Type } from '../../std/schema.ts';

export interface Setting<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  readonly default: Static<Schema>;
  readonly expected: string;
  /** Encrypted at rest and redacted in every reply; of a map, what redaction.ts takes for a secret. */
  readonly secret: boolean;
  /** Takes null, and reads an empty text as null: "not set". */
  readonly nullable: boolean;
  /** False for what only this service itself may set. */
  readonly writable: boolean;
  /** Environment variable that gives the first value, as long as nothing was ever stored under the key. */
  readonly environment: string | undefined;
  /** One sentence for the settings page. */
  readonly help: string;
}

interface SettingOptions {
  readonly environment?: string;
  readonly writable?: boolean;
}

interface Traits {
  readonly secret?: boolean;
  readonly nullable?: boolean;
}

function setting<Schema extends TSchema>(
  schema: Schema,
  initial: Static<Schema>,
  expected: string,
  help: string,
  { environment, writable = true, secret = false, nullable = false }: SettingOptions & Traits = {},
): Setting<Schema> {
  return { schema, default: initial, expected, secret, nullable, writable, environment, help };
}

export const flag = (initial: boolean, help: string, options?: SettingOptions) =>
  setting(Type.Boolean(), initial, 'true or false', help, options);

const TEXT_LENGTH_MAX = 2_000;
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** A switch that nobody has to set: null leaves it to the service. */
export const optionalFlag = (help: string, options?: SettingOptions) =>
  setting(orNull(Type.Boolean()), null, 'true, false or null', help, { ...options, nullable: true });

type Bounds = { readonly minimum: number; readonly maximum: number };

const within = ({ minimum, maximum }: Bounds): string => `from ${minimum} to ${maximum}`;

export const integer = (initial: number, bounds: Bounds, help: string, options?: SettingOptions) =>
  setting(Type.Integer(bounds), initial, `a whole number ${within(bounds)}`, help, options);

export const number = (initial: number, bounds: Bounds, help: string, options?: SettingOptions) =>
  setting(Type.Number(bounds), initial, `a number ${within(bounds)}`, help, options);

/** A short text that may be absent. */
export const optionalText = (help: string, options?: SettingOptions) =>
  setting(
    orNull(Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX })),
    null,
    `a text of at most ${TEXT_LENGTH_MAX} characters, or null`,
    help,
    { ...options, nullable: true },
  );

const Credential = Type.String({ pattern: '^[\\x21-\\x7e]+$', maxLength: TEXT_LENGTH_MAX });

/** A credential. Printable ASCII only: it travels in an HTTP header. */
export const optionalSecret = (help: string, options?: SettingOptions) =>
  setting(orNull(Credential), null, 'a key without blanks, or null', help, {
    ...options,
    nullable: true,
    secret: true,
  });

const WebAddress = Type.String({ pattern: '^https?://[^\\s/@]+(/[^\\s@]*)?$', maxLength: TEXT_LENGTH_MAX });

/** The address of a service. Credentials in it would show, so they are refused. */
export const optionalUrl = (help: string, options?: SettingOptions) =>
  setting(orNull(WebAddress), null, 'an http or https address without credentials, or null', help, {
    ...options,
    nullable: true,
  });

/** What a turn uses when it names no model: `provider:model` or `role:name`. */
export const optionalModelReference = (help: string, options?: SettingOptions) =>
  setting(
    orNull(Type.String({ pattern: '^[^\\s:]+:\\S[^\\n]*$', maxLength: TEXT_LENGTH_MAX })),
    null,
    'provider:model, role:name or null',
    help,
    { ...options, nullable: true },
  );

/** The model behind a role: a role cannot stand for another, and an empty text leaves it unset. */
export const roleModel = (help: string, options?: SettingOptions) =>
  setting(
    Type.String({ pattern: '^$|^(?!role:)[^\\s:]+:\\S[^\\n]*$', maxLength: TEXT_LENGTH_MAX }),
    '',
    'provider:model, or empty',
    help,
    options,
  );

const MODEL_LIMITS_MAX = 1_000;

/** Limits of single models, keyed by `provider:model`. Replaced as a whole. */
export const modelLimits = (help: string, options?: SettingOptions) =>
  setting(
    Type.Record(
      // No underscore first: `__proto__` is no model.
      Type.String({ pattern: '^[A-Za-z0-9@~][^\\n]{0,199}$' }),
      Type.Object(
        {
          context_window: Type.Optional(Type.Integer({ minimum: 1024, maximum: 2_000_000 })),
          max_output_tokens: Type.Optional(Type.Integer({ minimum: 256, maximum: 200_000 })),
        },
        { additionalProperties: false },
      ),
      { maxProperties: MODEL_LIMITS_MAX, additionalProperties: false },
    ),
    {},
    'a map of model to {context_window 1024 to 2000000, max_output_tokens 256 to 200000}',
    help,
    options,
  );

/** An endpoint that speaks the chat-completions protocol, as its user registered it. */
export const CustomEndpoint = Type.Object(
  {
    label: Type.String({ minLength: 1, maxLength: 80 }),
    base_url: WebAddress,
    api_key: orNull(Credential),
    /** Sent with every request. */
    headers: Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
      Type.String({ pattern: '^[\\x20-\\x7e]*$', maxLength: TEXT_LENGTH_MAX }),
      { maxProperties: 20, additionalProperties: false },
    ),
    enabled: Type.Boolean(),
  },
  { additionalProperties: false },
);

/** The first part of a model reference. */
const ENDPOINT_ID = '^[a-z0-9][a-z0-9_-]{1,31}$';
/** Each is asked for its models when somebody wants to see them all. */
const CUSTOM_ENDPOINTS_MAX = 32;

/** Endpoints by id. They hold keys, and have routes of their own. */
export const customEndpoints = (help: string) =>
  setting(
    Type.Record(Type.String({ pattern: ENDPOINT_ID }), CustomEndpoint, {
      maxProperties: CUSTOM_ENDPOINTS_MAX,
      additionalProperties: false,
    }),
    {},
    `a map of id to endpoint, at most ${CUSTOM_ENDPOINTS_MAX}`,
    help,
    { secret: true, writable: false },
  );
