/**
 * `npm run build`: bundles what ships into dist/: one entry, and one chunk for each command that is loaded lazily, with
 * all dependencies and the generated validators inside, and sbom.cdx.json, the list of these dependencies. Another folder
 * than dist/ may be given as an argument.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { sbomOf } from './sbom.ts';

const project = join(import.meta.dirname, '..');

// Bundled CommonJS packages ask for built-in modules with `require`, which an ES module does not have by itself.
const REQUIRE =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

const outdir = resolve(project, process.argv[2] ?? 'dist');

await rm(outdir, { recursive: true, force: true });
const common = {
  absWorkingDir: project,
  outdir,
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Identifiers stay as they are, because dependencies compare names of classes. With `keepNames`, esbuild would define the
  // name of each closure at run time, which costs 256 bytes for each: 24 MiB in a server with 1,000 agents.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

const complete = await build({
  ...common,
  entryPoints: {
    cli: 'src/cli/process.ts',
    'validate-thread': 'src/compose/validate/threads/thread.ts',
    'decode-thread': 'src/compose/decoding/decode-thread.ts',
    'plan-process': 'src/compose/plan/plan-process.ts',
    'git-thread': 'src/adapters/git/isomorphic/thread.ts',
  },
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  format: 'esm',
  banner: { js: REQUIRE },
});
// The loader of ES modules takes 13 MiB, which is too much beside every application.
const lean = await build({
  ...common,
  entryPoints: { 'probe-proxy': 'src/domains/health/cli/probe-proxy-process.ts' },
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // Parts that are loaded when they are needed: with `require`, without that loader.
  supported: { 'dynamic-import': false },
});

const [program, lockfile] = await Promise.all(
  ['package.json', 'package-lock.json'].map(async (file) => JSON.parse(await readFile(join(project, file), 'utf8'))),
);
await writeFile(join(outdir, 'sbom.cdx.json'), sbomOf(program, [complete.metafile, lean.metafile], lockfile));

const outputs = [complete, lean].flatMap(({ metafile }) =>
  Object.entries(metafile.outputs).filter(([file]) => /\.c?js$/.test(file)),
);
const bytes = outputs.reduce((sum, [, output]) => sum + output.bytes, 0);
console.log(`${outdir}: ${outputs.length} files, ${(bytes / 1024).toFixed(0)} KiB`);
