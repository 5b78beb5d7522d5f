// Loading: exports of an author's modules by name, because closures do not cross threads.

/** Where something that another thread needs is found. Plain data. */
export interface ExportName {
  readonly module: string;
  readonly exportName: string;
}

/** Which actor of many a message is for: exported by the author's module, called on the thread of the forwarder. */
// biome-ignore lint/suspicious/noExplicitAny: it is given messages of the author's own protocol.
export type KeyOf = (message: any, name: string) => string;

export async function loadKeyOf({ module, exportName }: ExportName): Promise<KeyOf> {
  const exports: Record<string, unknown> = await import(module);
  const keyOf = exports[exportName];
  if (typeof keyOf !== 'function') throw new Error(`${module} has no function ${exportName} that gives keys`);
  return keyOf as KeyOf;
}
