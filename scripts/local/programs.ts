import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findEnvoy } from './envoy-program.ts';
import { builtFolder, findKubernetesPrograms } from './kubernetes-programs.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** How a program comes to this machine: packages of Debian, parted by spaces, or a script of `package.json`. */
export type Origin = { readonly debian: string } | { readonly script: string };

interface Program {
  readonly origin: Origin;
  /** Only tests of `npm run test:long` start it. */
  readonly isForLong?: true;
  /** Absent: on the PATH. */
  readonly find?: (env: Environment) => string | undefined;
}

const KUBERNETES: Origin = { script: 'kubernetes-binaries' };

/** The programs that tests and checks start, beside Node, git and the programs of a POSIX system. */
export const PROGRAMS = {
  bash: { origin: { debian: 'bash' } },
  buildah: { origin: { debian: 'buildah' }, isForLong: true },
  fish: { origin: { debian: 'fish' } },
  gpg: { origin: { debian: 'gnupg' } },
  mmdebstrap: { origin: { debian: 'mmdebstrap' }, isForLong: true },
  openssl: { origin: { debian: 'openssl' } },
  prometheus: { origin: { debian: 'prometheus' } },
  promtool: { origin: { debian: 'prometheus' } },
  // The second package has Google's own definitions, which ours import.
  protoc: { origin: { debian: 'protobuf-compiler libprotobuf-dev' } },
  python3: { origin: { debian: 'python3-venv' } },
  'redis-server': { origin: { debian: 'redis-server' } },
  setpriv: { origin: { debian: 'util-linux' } },
  sshd: { origin: { debian: 'openssh-server' } },
  'ssh-keygen': { origin: { debian: 'openssh-client' } },
  unshare: { origin: { debian: 'util-linux' } },
  zsh: { origin: { debian: 'zsh' } },
  envoy: { origin: { script: 'envoy-binary' }, find: findEnvoy },
  'kube-apiserver': { origin: KUBERNETES, find: (env) => findKubernetesPrograms(env)?.apiServer },
  'kube-controller-manager': { origin: KUBERNETES, find: (env) => findKubernetesPrograms(env)?.controllerManager },
  kubectl: { origin: KUBERNETES, find: (env) => findKubernetesPrograms(env)?.kubectl },
  helm: { origin: KUBERNETES, find: (env) => onPath('helm', { PATH: `${builtFolder(env)}${delimiter}${env.PATH}` }) },
} as const satisfies Readonly<Record<string, Program>>;

export type ProgramName = keyof typeof PROGRAMS;

/** The path of a program; undefined: it is not here. */
export function findProgram(name: ProgramName, env: Environment): string | undefined {
  const program: Program = PROGRAMS[name];
  return program.find === undefined ? onPath(name, env) : program.find(env);
}

/** Whether `npm test` makes a program ready; it does nothing for tests that it leaves out. */
export function isNeeded(name: ProgramName, isLong: boolean): boolean {
  const program: Program = PROGRAMS[name];
  return isLong || program.isForLong !== true;
}

/** For people: how to get a program. */
export function howToGet(name: ProgramName): string {
  const { origin }: Program = PROGRAMS[name];
  return 'debian' in origin ? `apt-get install ${origin.debian}` : `npm run ${origin.script}`;
}

function onPath(name: string, { PATH: path = '' }: Environment): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
