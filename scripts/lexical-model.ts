// Lexical model: writes the built-in model for embeddings to a folder, or only says its hash when none is named. The service
// does the same at its first start; this is to look at the file with other tools, and to see that it is the same everywhere.
//   node scripts/run.cjs scripts/lexical-model.ts [FOLDER]

import {
  ensureLexicalModel,
  LEXICAL_SHA256,
  lexicalFacts,
  lexicalModel,
} from '../src/actors/embeddings/lexical-model.ts';
import { sha256Hex } from '../src/std/hashes.ts';
import { systemRandom } from '../src/std/ids.ts';

const [folder] = process.argv.slice(2);
const bytes = lexicalModel();
const hash = sha256Hex(bytes);
console.log(
  `${lexicalFacts.model}: ${lexicalFacts.dimensions} dimensions, ${bytes.length} bytes, sha256 ${hash}`,
);
if (hash !== LEXICAL_SHA256) {
  console.error(`It should be ${LEXICAL_SHA256}: a change of the model is a new version of it.`);
  process.exit(1);
}
if (folder !== undefined) console.log(await ensureLexicalModel(folder, systemRandom));
