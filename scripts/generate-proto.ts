import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A folder of protobuf files; imports are relative to it, and the code is in the same sub-folders of `generated/`. */
interface ProtoFolder {
  readonly folder: string;
  readonly files: readonly string[];
}

const FOLDERS: readonly ProtoFolder[] = [
  { folder: 'src/relay/wire', files: ['relay.proto'] },
  {
    folder: 'src/xds/wire',
    files: [
      'envoy/config/core/v3/core.proto',
      'envoy/config/endpoint/v3/endpoint.proto',
      'envoy/service/discovery/v3/discovery.proto',
      'envoy/service/health/v3/hds.proto',
      'google/rpc/status.proto',
    ],
  },
];

/** What {@link generateProto} did: `skipped` if protoc is not installed, `drifted` if the check found other texts. */
export type ProtoOutcome =
  | { readonly type: 'written' | 'unchanged' | 'drifted'; readonly files: readonly string[] }
  | { readonly type: 'skipped'; readonly message: string };

/**
 * Makes the code of all protobuf files with protoc and protoc-gen-es; with `check` only compares. Throws if protoc refuses
 * a file.
 */
export function generateProto(options: { readonly check: boolean }): ProtoOutcome {
  const version = spawnSync('protoc', ['--version'], { encoding: 'utf8', timeout: 30_000 });
  if (version.error !== undefined || version.status !== 0) {
    return {
      type: 'skipped',
      message: 'protoc is not installed (Debian: apt-get install protobuf-compiler libprotobuf-dev)',
    };
  }
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-proto-'));
  try {
    const fresh = FOLDERS.flatMap((protos) => compile(protos, folder));
    const changed = fresh.filter(({ file, text }) => readCommitted(file) !== text);
    const files = changed.map(({ file }) => file);
    if (changed.length === 0) return { type: 'unchanged', files };
    if (options.check) return { type: 'drifted', files };
    for (const { file, text } of changed) {
      mkdirSync(dirname(join(ROOT, file)), { recursive: true });
      writeFileSync(join(ROOT, file), text);
    }
    return { type: 'written', files };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the texts of the generated files, by their paths in the project. */
function compile({ folder: source, files }: ProtoFolder, folder: string) {
  const plugin = fileURLToPath(import.meta.resolve('@bufbuild/protoc-gen-es/bin/protoc-gen-es'));
  const run = spawnSync(
    'protoc',
    [
      `--plugin=protoc-gen-es=${plugin}`,
      `--es_out=${folder}`,
      '--es_opt=target=ts,import_extension=ts,erasable_syntax=true',
      `-I${join(ROOT, source)}`,
      ...files,
    ],
    {
      encoding: 'utf8',
      timeout: 60_000,
      env: { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` },
    },
  );
  if (run.status !== 0) throw new Error(`protoc failed: ${run.stderr}`, { cause: run.error });
  return files.map((file) => {
    const made = file.replace(/\.proto$/, '_pb.ts');
    return { file: join('generated', made), text: readFileSync(join(folder, made), 'utf8') };
  });
}

function readCommitted(file: string): string | undefined {
  try {
    return readFileSync(join(ROOT, file), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

if (import.meta.main) {
  const check = process.argv.includes('--check');
  const outcome = generateProto({ check });
  const what = outcome.type === 'skipped' ? outcome.message : outcome.files.join(', ');
  console.log(`code of protobuf files: ${outcome.type}${what === '' ? '' : `: ${what}`}`);
  if (outcome.type === 'drifted') process.exitCode = 1;
}
