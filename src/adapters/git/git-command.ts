import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { devNull } from 'node:os';
import { isAbsolute, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { given } from '../../model/values/given.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AuthorizationHeader, Environment, Remote } from './remote.ts';

export interface GitCall {
  readonly args: readonly string[];
  /** The command takes no literal paths; without it all paths are literal. */
  readonly takesPatterns?: true;
  /** The repository; absent for commands that need none. */
  readonly repository?: string;
  /** Read as the program takes it. */
  readonly input?: Iterable<string | Uint8Array>;
  /** Override settings of the repository. */
  readonly settings?: readonly Setting[];
  /** Variables for the programs that git starts. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  /** More output ends the process; 1 MiB unless set. */
  readonly maxOutputBytes?: number;
  /** Set for a call that may use the network. */
  readonly network?: {
    readonly authorization: AuthorizationHeader | undefined;
    /** Writes the packets of the protocol, without HTTP headers, to the error output. */
    readonly tracePackets?: boolean;
  };
  readonly signal?: AbortSignal | undefined;
}

export type Setting = readonly [name: string, value: string];

/** How a process ended. */
export interface ProcessOutcome {
  /** `overflow`: killed because it wrote too much. `missing`: the program could not be started. */
  readonly end: 'exited' | 'timedOut' | 'aborted' | 'overflow' | 'missing';
  /** Exit code; -1 unless `end` is `exited` and no signal ended it. */
  readonly code: number;
  /** Exited with code 0. */
  readonly succeeded: boolean;
  readonly output: Buffer;
  /** The end of the error output. */
  readonly errors: string;
}

export type GitCommand = ReturnType<typeof createGitCommand>;

/** What a program needs to find its libraries, its temporary files, the proxies and the trusted certificates. */
const PASSED_ON =
  /^(PATH|TMPDIR|TEMP|TMP|SYSTEMROOT|SSL_CERT_FILE|SSL_CERT_DIR|LD_LIBRARY_PATH|(HTTP|HTTPS|ALL|NO)_PROXY)$/i;
const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024;
const ERROR_TAIL_LENGTH = 16 * 1024;

/**
 * Runs git. No setting of the machine changes what it does, and settings of the user do so only if `home` is given. Commands on a
 * repository that fleetrelay did not make must override the settings of the repository that start programs, and give a `home`: what
 * lies in the repository is no setting of the user. `directory` must exist; it is the working directory of git, and its home unless
 * `home` is given.
 */
export function createGitCommand(
  { clock, environment }: { readonly clock: Clock; readonly environment: Environment },
  options: {
    readonly directory: string;
    readonly remote: Remote;
    readonly caFile: string | undefined;
    /** For an SSH address. */
    readonly sshCommand?: string | undefined;
    /** Whose settings count, as for the person who would call git; see {@link homeOutside}. */
    readonly home?: UserHome;
  },
) {
  const { directory, remote, home = { HOME: directory, GIT_CONFIG_GLOBAL: devNull } } = options;
  const ssh = given({ GIT_SSH_COMMAND: options.sshCommand });
  const base = { ...baseEnvironment(environment, directory), ...home, ...ssh };
  const start = (
    args: readonly string[],
    repository: string | undefined,
    { network, settings = [], environment: added = {} }: Pick<GitCall, 'network' | 'settings' | 'environment'> = {},
  ) =>
    spawnGroup({
      program: 'git',
      args: [...OVERRIDES, ...args],
      directory,
      environment: {
        ...base,
        ...added,
        ...given({ GIT_DIR: repository }),
        ...(network?.tracePackets === true ? { GIT_TRACE_PACKET: '1' } : {}),
        GIT_ALLOW_PROTOCOL: network === undefined ? 'none' : remote.protocols,
        ...configuration([
          ...COMMON_SETTINGS,
          ...networkSettings(remote, options.caFile, network?.authorization),
          ...settings,
        ]),
      },
    });
  return {
    /** Runs git to its end, its deadline or the caller's abort, whichever is first. Never rejects. */
    run: async (call: GitCall): Promise<ProcessOutcome> =>
      call.signal?.aborted === true
        ? endedEarly('aborted', '')
        : outcomeOf(clock, call, start([...pathspecsOf(call), ...call.args], call.repository, call)),
    /** Starts a local command that runs until it is killed. */
    start: (args: readonly string[], repository: string, environment: Readonly<Record<string, string>> = {}) =>
      start(args, repository, { environment }),
  };
}

function pathspecsOf({ takesPatterns }: GitCall): readonly string[] {
  return takesPatterns === true ? [] : ['--literal-pathspecs'];
}

/** Runs a program that git uses, to its end or its deadline, with the environment that git has. Never rejects. */
export function runProgram(
  { clock, environment }: { readonly clock: Clock; readonly environment: Environment },
  { program, args, directory, deadlineMs }: ToRun,
): Promise<ProcessOutcome> {
  const child = spawnGroup({ program, args, directory, environment: baseEnvironment(environment, directory) });
  return outcomeOf(clock, { args, deadlineMs }, child);
}

interface ToRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly deadlineMs: number;
}

/**
 * Starts a program in a process group of its own, so that all processes it starts can be killed with it: a helper of git
 * would otherwise outlive git and hold a connection.
 */
export function spawnGroup(request: {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
}): ChildProcessWithoutNullStreams {
  return spawn(request.program, request.args, {
    cwd: request.directory,
    env: request.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    windowsHide: true,
  });
}

/** Kills a process that {@link spawnGroup} started, and all processes that it started. */
export function killGroup(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function outcomeOf(clock: Clock, call: GitCall, child: ChildProcessWithoutNullStreams): Promise<ProcessOutcome> {
  const { input = [], deadlineMs, maxOutputBytes = DEFAULT_MAX_OUTPUT_BYTES, signal } = call;
  const { promise, resolve } = Promise.withResolvers<ProcessOutcome>();
  const output: Buffer[] = [];
  let size = 0;
  let errors = '';
  let forced: 'timedOut' | 'aborted' | 'overflow' | undefined;
  const force = (why: typeof forced): void => {
    forced ??= why;
    killGroup(child);
  };
  const abort = (): void => force('aborted');
  const cancelDeadline = clock.schedule(deadlineMs, () => force('timedOut'));
  signal?.addEventListener('abort', abort, { once: true });
  const finish = (outcome: ProcessOutcome): void => {
    cancelDeadline();
    signal?.removeEventListener('abort', abort);
    resolve(outcome);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxOutputBytes) force('overflow');
    else output.push(chunk);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-ERROR_TAIL_LENGTH);
  });
  child.once('error', (error) => finish(endedEarly('missing', error.message)));
  child.once('close', (exitCode) => {
    const code = forced === undefined ? (exitCode ?? -1) : -1;
    finish({ end: forced ?? 'exited', code, succeeded: code === 0, output: Buffer.concat(output), errors });
  });
  // A program that ends early closes its input; its exit says more than the broken pipe.
  pipeline(Readable.from(input), child.stdin).catch(() => undefined);
  return promise;
}

function endedEarly(end: 'aborted' | 'missing', errors: string): ProcessOutcome {
  return { end, code: -1, succeeded: false, output: Buffer.alloc(0), errors };
}

function baseEnvironment(from: Environment, directory: string): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && PASSED_ON.test(name)) passed[name] = value;
  }
  return {
    ...passed,
    HOME: directory,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

/** Variables that say whose settings git reads. */
export type UserHome = Readonly<Partial<Record<'HOME' | 'XDG_CONFIG_HOME' | 'GIT_CONFIG_GLOBAL', string>>>;

/** The home of the user of this process, for commands on a repository at `root`; a home inside of it is none. */
export function homeOutside(root: string, { HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL }: Environment): UserHome {
  const isUsable = (path: string | undefined): path is string =>
    path !== undefined && isAbsolute(path) && /^\.\.(?:[\\/]|$)/.test(relative(root, path));
  if (!isUsable(HOME)) return { HOME: devNull, GIT_CONFIG_GLOBAL: devNull };
  return {
    HOME,
    ...(isUsable(XDG_CONFIG_HOME) && { XDG_CONFIG_HOME }),
    ...(isUsable(GIT_CONFIG_GLOBAL) && { GIT_CONFIG_GLOBAL }),
  };
}

/** Settings that keep a repository from starting programs. They are no secrets, and every version of git knows this form. */
const OVERRIDES = ['-c', 'core.fsmonitor=false', '-c', `core.hooksPath=${devNull}`];

const COMMON_SETTINGS: readonly Setting[] = [
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['transfer.fsckObjects', 'true'],
  // Harmless defects of commits by old tools, common in long histories.
  ['fetch.fsck.zeroPaddedFilemode', 'ignore'],
  ['fetch.fsck.badTimezone', 'ignore'],
  ['fetch.fsck.missingSpaceBeforeDate', 'ignore'],
  ['fetch.recurseSubmodules', 'false'],
  // Always a pack, which can be removed again.
  ['fetch.unpackLimit', '1'],
  ['submodule.recurse', 'false'],
  // Larger objects are written as they come, and not held in memory.
  ['core.bigFileThreshold', '16m'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['init.defaultBranch', 'main'],
  ['advice.detachedHead', 'false'],
];

function networkSettings(
  remote: Remote,
  caFile: string | undefined,
  authorization: AuthorizationHeader | undefined,
): readonly Setting[] {
  if (remote.local || remote.ssh) return [];
  return [
    ['http.sslVerify', 'true'],
    // Git would send the header to the target of a redirect.
    ['http.followRedirects', authorization === undefined ? 'initial' : 'false'],
    ['http.lowSpeedLimit', '100'],
    ['http.lowSpeedTime', '60'],
    ...(caFile === undefined ? [] : [['http.sslCAInfo', caFile] as const]),
    ...(authorization === undefined ? [] : [[`http.${remote.url}.extraHeader`, authorization.header] as const]),
  ];
}

/** Passes settings as environment variables: every user of the machine can read a command line. */
function configuration(settings: readonly Setting[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [index, [name, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = name;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
