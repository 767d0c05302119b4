import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { allowanceFile, findProse } from './checks/prose.ts';

// `npm run prose -- <path>` lists the wording that is left below the path; without a path it writes the counts.
const root = path.join(import.meta.dirname, '..');
const below = process.argv[2];
const found = await findProse(root);
if (below !== undefined) {
  const problems = [...found].flatMap(([file, texts]) => (file.startsWith(below) ? texts : []));
  console.log([...problems, `${problems.length} findings`].join('\n'));
} else {
  const counts = Object.fromEntries([...found].map(([file, texts]) => [file, texts.length]));
  await writeFile(path.join(root, allowanceFile), `${JSON.stringify(counts, null, 2)}\n`);
  console.log(`${Object.values(counts).reduce((sum, count) => sum + count, 0)} findings in ${found.size} files`);
}
