/** `npm run image`: builds the image with docker, podman or buildah. `npm run image -- --help` has its options. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBases } from './image/bases.ts';
import {
  BUILDERS,
  type BuilderName,
  buildCommands,
  builderProblem,
  type Command,
  describeCommand,
  type ImageBuild,
} from './image/builders.ts';

const project = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { readonly version: string };

const USAGE = `npm run image -- [OPTIONS]

Builds the image of this checkout, with the first of docker (with buildx and a running engine), podman and buildah that can. Two
builds with one program from the same bases give one digest.

  --tag NAME            fleetrelay:${version} if left out
  --program NAME        docker, podman or buildah
  --base node=IMAGE     another base with node and npm in /usr/local (only to build, and for its node)
  --base debian=IMAGE   another base to run on: Debian trixie, or a system made from it
  --make-bases          makes both bases first, by mmdebstrap and from packages of npm: no registry of images is needed
  --platform LIST       linux/amd64,linux/arm64; this machine's if left out. Several need --output, and docker or emulation
  --output FILE         writes an archive in the form of OCI
  --ca-file FILE        certificate authorities that npm trusts during the build; NODE_EXTRA_CA_CERTS if left out
  --dry-run             prints the commands that build the image, and runs none

Environment: SOURCE_DATE_EPOCH is the time of the image, in seconds since 1970; if left out, of the last commit.`;

/** A mistake of the person who types. */
class UsageError extends Error {}

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

function epochOf(given: string | undefined): number {
  const text = given ?? git('log', '-1', '--format=%ct') ?? '0';
  if (!/^\d{1,12}$/.test(text))
    throw new UsageError(`SOURCE_DATE_EPOCH is "${text}", not a number of seconds since 1970`);
  return Number(text);
}

/** Labels that say which commit it is; without git none is known. */
function labelsOf(epoch: number): Readonly<Record<string, string>> {
  const commit = git('rev-parse', 'HEAD');
  const changed = git('status', '--porcelain', '--untracked-files=no');
  const created = new Date(epoch * 1000).toISOString().replace('.000', '');
  return {
    'org.opencontainers.image.created': created,
    ...(commit === undefined
      ? {}
      : { 'org.opencontainers.image.revision': `${commit}${changed === '' ? '' : '-dirty'}` }),
  };
}

/** `node=IMAGE` and `debian=IMAGE` as arguments of the Dockerfile. */
function baseArgs(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const [, name, image] = /^(node|debian)=(.+)$/.exec(text) ?? [];
      if (name === undefined || image === undefined)
        throw new UsageError(`--base is "${text}", not node=IMAGE or debian=IMAGE`);
      return [name.toUpperCase(), image];
    }),
  );
}

function chooseBuilder(named: string | undefined): BuilderName {
  const candidates = BUILDERS.filter((name) => named === undefined || name === named);
  if (candidates.length === 0) throw new UsageError(`--program is "${named}", not one of ${BUILDERS.join(', ')}`);
  const problems: string[] = [];
  for (const name of candidates) {
    const problem = builderProblem(name);
    if (problem === undefined) return name;
    problems.push(`  ${name}: ${problem}`);
  }
  throw new UsageError(
    `no program here can build an image; "apt-get install buildah" installs one that needs no engine\n${problems.join('\n')}`,
  );
}

function run([program, ...args]: Command, env: Readonly<Record<string, string>> = {}): void {
  console.log(`$ ${[program, ...args].map((word) => (/[^\w./:=@,+-]/.test(word) ? `'${word}'` : word)).join(' ')}`);
  execFileSync(program, args, { cwd: project, stdio: 'inherit', env: { ...process.env, ...env } });
}

function main(): void {
  const { values } = parseArgs({
    options: {
      tag: { type: 'string', default: `fleetrelay:${version}` },
      program: { type: 'string' },
      base: { type: 'string', multiple: true, default: [] },
      'make-bases': { type: 'boolean', default: false },
      platform: { type: 'string' },
      output: { type: 'string' },
      'ca-file': { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const { tag, output, 'dry-run': dryRun } = values;
  const platforms = values.platform?.split(',') ?? [];
  if (platforms.length > 1 && output === undefined) throw new UsageError('several platforms need --output FILE');
  const caFile = values['ca-file'] ?? process.env.NODE_EXTRA_CA_CERTS;
  if (caFile !== undefined && !existsSync(caFile))
    throw new UsageError(`the file of authorities is not there: ${caFile}`);
  const args = baseArgs(values.base);
  const epoch = epochOf(process.env.SOURCE_DATE_EPOCH);
  const builder = dryRun && isBuilder(values.program) ? values.program : chooseBuilder(values.program);
  if (values['make-bases'] && !dryRun) {
    const { node, debian } = makeBases(builder, epoch, run);
    Object.assign(args, { NODE: node, DEBIAN: debian });
  }
  const build: ImageBuild = {
    file: 'deploy/image/Dockerfile',
    context: '.',
    ...{ tag, epoch, args, platforms },
    labels: labelsOf(epoch),
    ...(caFile === undefined ? {} : { caFile: resolve(caFile) }),
    ...(output === undefined ? {} : { output: resolve(output) }),
  };
  for (const command of buildCommands(builder, build)) dryRun ? console.log(command.join(' ')) : run(command);
  if (!dryRun && (builder !== 'docker' || output === undefined)) run(describeCommand(builder, tag));
}

function isBuilder(name: string | undefined): name is BuilderName {
  return BUILDERS.some((builder) => builder === name);
}

try {
  main();
} catch (error) {
  const { code, status, message } = error as { code?: string; status?: number; message: string };
  const mistyped = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true;
  console.error(mistyped ? `${message}\nnpm run image -- --help has the options` : message);
  process.exitCode = mistyped ? 2 : (status ?? 1);
}
