// Where the reference server of the protocol is, which we did not write.

import { fileURLToPath } from 'node:url';

export const EVERYTHING = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
