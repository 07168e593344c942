import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE_FOLDER = join(ROOT, 'src/relay/wire');
const TARGET = join(ROOT, 'generated/relay_pb.ts');

/** What {@link generateProto} did: `skipped` if protoc is not installed, `drifted` if the check found another text. */
export type ProtoOutcome =
  | { readonly type: 'written' | 'unchanged' | 'drifted' }
  | { readonly type: 'skipped'; readonly message: string };

/**
 * Makes `generated/relay_pb.ts` from `relay.proto` with protoc and protoc-gen-es; with `check` only compares.
 * Throws if protoc refuses the file.
 */
export function generateProto(options: { readonly check: boolean }): ProtoOutcome {
  const version = spawnSync('protoc', ['--version'], { encoding: 'utf8', timeout: 30_000 });
  if (version.error !== undefined || version.status !== 0) {
    return { type: 'skipped', message: 'protoc is not installed (Debian: apt-get install protobuf-compiler)' };
  }
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-proto-'));
  try {
    const fresh = compile(folder);
    const committed = readCommitted();
    if (fresh === committed) return { type: 'unchanged' };
    if (options.check) return { type: 'drifted' };
    writeFileSync(TARGET, fresh);
    return { type: 'written' };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compile(folder: string): string {
  const plugin = fileURLToPath(import.meta.resolve('@bufbuild/protoc-gen-es/bin/protoc-gen-es'));
  const run = spawnSync(
    'protoc',
    [
      `--plugin=protoc-gen-es=${plugin}`,
      `--es_out=${folder}`,
      '--es_opt=target=ts,import_extension=ts,erasable_syntax=true',
      `-I${SOURCE_FOLDER}`,
      'relay.proto',
    ],
    {
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` },
    },
  );
  if (run.status !== 0) throw new Error(`protoc failed: ${run.stderr}`, { cause: run.error });
  return readFileSync(join(folder, 'relay_pb.ts'), 'utf8');
}

function readCommitted(): string | undefined {
  try {
    return readFileSync(TARGET, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

if (import.meta.main) {
  const check = process.argv.includes('--check');
  const outcome = generateProto({ check });
  console.log(`generated/relay_pb.ts: ${outcome.type}${outcome.type === 'skipped' ? `: ${outcome.message}` : ''}`);
  if (outcome.type === 'drifted') process.exitCode = 1;
}
