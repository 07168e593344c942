import { execFileSync } from 'node:child_process';

/** The programs that can build an image, in the order in which they are tried. */
export const BUILDERS = ['docker', 'podman', 'buildah'] as const;
export type BuilderName = (typeof BUILDERS)[number];

/** One image to build. */
export interface ImageBuild {
  /** Path of the Dockerfile. */
  readonly file: string;
  /** The folder that the Dockerfile copies from. */
  readonly context: string;
  readonly tag: string;
  /** Seconds since 1970: the time of the image and of all files in it. */
  readonly epoch: number;
  /** `ARG`s of the Dockerfile. */
  readonly args?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** A file with certificate authorities that npm trusts during the build. */
  readonly caFile?: string;
  /** `linux/amd64`, `linux/arm64`; if left out, the machine's platform. Several are written into one archive. */
  readonly platforms?: readonly string[];
  /** An archive in the form of OCI; if left out, the image is in the store of the builder. */
  readonly output?: string;
}

/** A command line: a program and its arguments. */
export type Command = readonly [string, ...string[]];

/** The command lines that build an image with a program. Two runs from the same bases give the same digest. */
export function buildCommands(builder: BuilderName, build: ImageBuild): readonly Command[] {
  return builder === 'docker' ? [dockerBuild(build)] : buildahBuild(builder, build);
}

function dockerBuild(build: ImageBuild): Command {
  // Attestations hold the time of the build.
  const { output } = build;
  const to = output === undefined ? 'type=docker' : `type=oci,dest=${output}`;
  return [
    ...['docker', 'buildx', 'build', ...commonArgs(build), '--provenance=false', '--sbom=false'],
    ...['--build-arg', `SOURCE_DATE_EPOCH=${build.epoch}`, '--output', `${to},rewrite-timestamp=true`, build.context],
  ] as unknown as Command;
}

function buildahBuild(builder: 'podman' | 'buildah', build: ImageBuild): readonly Command[] {
  const { file, tag, output, context } = build;
  // Neither a runtime for containers nor a namespace of users is needed with chroot.
  const own = builder === 'buildah' ? ['--isolation', 'chroot', '--omit-history'] : [];
  const time = ['--timestamp', `${build.epoch}`, '--build-arg', `SOURCE_DATE_EPOCH=${build.epoch}`];
  const command = [
    builder,
    'build',
    ...own,
    ...time,
    '--ignorefile',
    `${file}.dockerignore`,
    ...commonArgs(build),
    context,
  ];
  if (output === undefined) return [command as unknown as Command];
  const to = `oci-archive:${output}:${tag}`;
  return [command as unknown as Command, [builder, 'push', tag, to]];
}

function commonArgs({ file, tag, args = {}, labels = {}, caFile, platforms = [] }: ImageBuild): readonly string[] {
  return [
    ...['--file', file, '--tag', tag],
    ...(platforms.length === 0 ? [] : ['--platform', platforms.join(',')]),
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]),
    ...(caFile === undefined ? [] : ['--secret', `id=ca,src=${caFile}`]),
  ];
}

/** The command line that prints the id (the digest of its configuration) and the size of an image in the store. */
export function describeCommand(builder: BuilderName, tag: string): Command {
  if (builder === 'buildah') return ['buildah', 'images', '--no-trunc', '--format', '{{.ID}} {{.Size}}', tag];
  return [builder, 'image', 'inspect', '--format', '{{.Id}} {{.Size}}', tag];
}

/** What shows that a program can build here: the client of docker alone cannot. */
const PROOFS: Readonly<Record<BuilderName, readonly Command[]>> = {
  docker: [
    ['docker', 'version', '--format', '{{.Server.Version}}'],
    ['docker', 'buildx', 'version'],
  ],
  podman: [['podman', 'info']],
  buildah: [['buildah', '--version']],
};

/** Why a program cannot build here, in one line; undefined: it can. */
export function builderProblem(builder: BuilderName): string | undefined {
  for (const [program, ...args] of PROOFS[builder]) {
    try {
      execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
    } catch (error) {
      const { code, stderr = '' } = error as { code?: string; stderr?: string };
      const last = stderr.trim().split('\n').at(-1);
      return code === 'ENOENT' ? 'it is not here' : `"${[program, ...args].join(' ')}" says: ${last}`;
    }
  }
  return undefined;
}
