/**
 * `npm run generate`: writes everything under generated/ anew, and what is generated of deploy/ and docs/. With `--check` nothing is
 * written: it fails if what is there differs from what would be written.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const STEPS = [
  'generate-schemas.ts',
  'generate-kubernetes-schemas.ts',
  'generate-proto.ts',
  'generate-crds.ts',
  'generate-deploy.ts',
  'generate-rules.ts',
  'generate-docs.ts',
  'generate-layers.ts',
];

function run(step: string): Promise<boolean> {
  const args = [join(import.meta.dirname, step), ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: join(import.meta.dirname, '..') });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code === 0));
  });
}

for (const step of STEPS) {
  if (!(await run(step))) process.exitCode = 1;
}
