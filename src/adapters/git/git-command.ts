import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../ports/clock.ts';
import type { AuthorizationHeader } from './credentials.ts';
import type { Remote } from './remote.ts';
import { type ProcessOutcome, runProcess, spawnGroup } from './run-process.ts';

/** Environment variables by name; a variable may be unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface GitCall {
  readonly args: readonly string[];
  /** The repository; none for commands that need none. */
  readonly repository?: string;
  readonly input?: readonly (string | Uint8Array)[];
  readonly deadlineMs: number;
  readonly maxOutputBytes?: number;
  /** Set for a call that may use the network. */
  readonly network?: {
    readonly authorization: AuthorizationHeader | undefined;
    /** Writes what the protocol says (no headers) to the error output. */
    readonly tracePackets?: boolean;
  };
  readonly signal?: AbortSignal | undefined;
}

/** Runs git so that nothing of the user, the machine or the repository can change what it does. */
export interface GitCommand {
  run(call: GitCall): Promise<ProcessOutcome>;
  /** Starts a process that goes on until it is killed; local commands only. */
  start(args: readonly string[], repository: string): ChildProcessWithoutNullStreams;
}

// What a program needs to find its libraries, its temporary files, the way out and the roots of trust.
const PASSED_ON =
  /^(PATH|TMPDIR|TEMP|TMP|SYSTEMROOT|SSL_CERT_FILE|SSL_CERT_DIR|LD_LIBRARY_PATH|(HTTP|HTTPS|ALL|NO)_PROXY)$/i;
const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024;

/** Creates the one way to git. `directory` must exist; it serves as home and working directory. */
export function createGitCommand(
  deps: { readonly clock: Clock; readonly environment: Environment },
  options: { readonly directory: string; readonly remote: Remote; readonly caFile: string | undefined },
): GitCommand {
  const { clock } = deps;
  const { directory, remote } = options;
  const base = baseEnvironment(deps.environment, directory);
  const environmentOf = (repository: string | undefined, network: GitCall['network']): Record<string, string> => ({
    ...base,
    ...(repository === undefined ? {} : { GIT_DIR: repository }),
    ...(network?.tracePackets === true ? { GIT_TRACE_PACKET: '1' } : {}),
    GIT_ALLOW_PROTOCOL: network === undefined ? 'none' : remote.protocols,
    ...configuration([...COMMON_SETTINGS, ...networkSettings(remote, options.caFile, network?.authorization)]),
  });
  return {
    run: (call) =>
      runProcess(clock, {
        program: 'git',
        args: ['--literal-pathspecs', ...call.args],
        environment: environmentOf(call.repository, call.network),
        directory,
        deadlineMs: call.deadlineMs,
        maxOutputBytes: call.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
        ...(call.input === undefined ? {} : { input: call.input }),
        signal: call.signal,
      }),
    start: (args, repository) =>
      spawnGroup({ program: 'git', args, environment: environmentOf(repository, undefined), directory }),
  };
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
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

const COMMON_SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['transfer.fsckObjects', 'true'],
  // Harmless defects of commits that old tools wrote, common in long histories.
  ['fetch.fsck.zeroPaddedFilemode', 'ignore'],
  ['fetch.fsck.badTimezone', 'ignore'],
  ['fetch.fsck.missingSpaceBeforeDate', 'ignore'],
  ['fetch.recurseSubmodules', 'false'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['init.defaultBranch', 'main'],
  ['advice.detachedHead', 'false'],
];

function networkSettings(
  remote: Remote,
  caFile: string | undefined,
  authorization: AuthorizationHeader | undefined,
): readonly (readonly [string, string])[] {
  if (remote.local) return [];
  return [
    ['http.sslVerify', 'true'],
    // A redirect would take the header along to wherever it leads.
    ['http.followRedirects', authorization === undefined ? 'initial' : 'false'],
    ['http.lowSpeedLimit', '100'],
    ['http.lowSpeedTime', '60'],
    ...(caFile === undefined ? [] : [['http.sslCAInfo', caFile] as const]),
    ...(authorization === undefined ? [] : [[`http.${remote.url}.extraHeader`, authorization.header] as const]),
  ];
}

/** Settings as environment variables: a command line can be read by every user of the machine. */
function configuration(settings: readonly (readonly [string, string])[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  for (const [index, [name, value]] of settings.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = name;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}
