// What another Node host embeds: the whole service, the API as a Fastify plugin, the actor kernel (also as `troupe/actors`).

export { type TroupePluginOptions, troupePlugin } from './http/plugin.ts';
export * from './supervisor/index.ts';
export { createTroupe, PORT_DEFAULT, type Troupe, type TroupeOptions } from './troupe.ts';
