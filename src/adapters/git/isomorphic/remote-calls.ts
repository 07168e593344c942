import git from 'isomorphic-git';
import { given } from '../../../model/values/given.ts';
import type { GitFailure } from '../../../ports/git-repo.ts';
import type { Connections } from '../../system/connections.ts';
import { cleanMessage, failed, LOOKS_ABSENT } from '../failures.ts';
import { createHttpClient, type HttpProblem } from './http-client.ts';
import { BadPack } from './pack-entry.ts';

/** What each use of the remote is told. */
export interface RemoteUse {
  /** The value of the header that authenticates. */
  readonly authorization: string | undefined;
  /** Every form of the secret, which no message may contain. */
  readonly secrets: readonly string[];
  readonly signal: AbortSignal;
}

export interface RemoteContext extends RemoteUse {
  readonly url: string;
  readonly connections: Connections;
}

export type Client = ReturnType<typeof createHttpClient>['client'];
export type Outcome<Value> = { readonly type: 'done'; readonly value: Value } | GitFailure;

/** An answer holds the names of refs, which are few beside a pack. */
const MOST_LISTING_BYTES = 64 * 1024 * 1024;

/** Makes one use of the remote, and turns its errors into failures. `what`: the step, as in "fetching main from https://...". */
export async function useRemote<Value>(
  context: RemoteContext,
  { what, maxBytes = MOST_LISTING_BYTES }: { readonly what: string; readonly maxBytes?: number },
  step: (client: Client, headers: Record<string, string>) => Promise<Value>,
): Promise<Outcome<Value>> {
  const { connections, signal, authorization, secrets } = context;
  const http = createHttpClient(connections, signal, maxBytes);
  try {
    const value = await step(http.client, given({ Authorization: authorization }));
    const problem = signal.aborted ? undefined : http.problem();
    if (problem === undefined && !signal.aborted) return { type: 'done', value };
    return failureOf(context, what, problem);
  } catch (error) {
    const problem = http.problem();
    if (signal.aborted || problem !== undefined) return failureOf(context, what, problem);
    return errorFailure(context, what, error, secrets);
  }
}

function failureOf(
  { signal, secrets, url }: RemoteContext,
  what: string,
  problem: HttpProblem | undefined,
): GitFailure {
  if (signal.aborted) return failed('Stopped', `${what} was stopped`);
  switch (problem?.type) {
    case 'tooLarge':
      return failed('TooLarge', `${what} was ended: the answer is larger than is allowed`);
    case 'redirected':
      return failed(
        'Unreachable',
        `${what} failed: ${url} sends the request elsewhere; configure the address it leads to`,
      );
    default:
      return failed('Unreachable', `${what} failed: ${cleanMessage(problem?.message ?? 'no answer', secrets)}`);
  }
}

function errorFailure({ url }: RemoteContext, what: string, error: unknown, secrets: readonly string[]): GitFailure {
  if (error instanceof BadPack)
    return failed('BadObjects', `${what} failed: the server sent a bad pack: ${error.message}`);
  if (!(error instanceof Error)) throw error;
  if (error instanceof git.Errors.HttpError) {
    const { statusCode } = error.data;
    if (statusCode === 401 || statusCode === 403) {
      return failed(
        'Unauthorized',
        `${what} failed: the server answered ${statusCode} (the credentials are missing, wrong, or not enough for this repository)`,
      );
    }
    if (statusCode === 404)
      return failed('RepositoryNotFound', `${what} failed: there is no such repository${LOOKS_ABSENT}`);
    return failed('Unreachable', `${what} failed: the server answered ${statusCode}`);
  }
  if (error instanceof git.Errors.SmartHttpError || error instanceof git.Errors.ParseError) {
    const message = `what answers at ${url} is not a git server (a sign-in page or a proxy, perhaps)`;
    return failed('Unreachable', message);
  }
  const isOfMachine = 'syscall' in error || /ENOSPC|EDQUOT|EROFS|EACCES|EMFILE/.test(error.message);
  const reason = isOfMachine ? 'LocalFailure' : 'Unreachable';
  return failed(reason, `${what} failed: ${cleanMessage(error.message, secrets)}`);
}

/** A ref of the remote. `target`: of a symbolic ref. */
export interface RemoteRef {
  readonly commit: string;
  readonly target: string | undefined;
}

/** Asks the remote for one ref; undefined: there is none. */
export async function askForRef(
  context: RemoteContext,
  ref: string,
  what: string,
): Promise<Outcome<RemoteRef | undefined>> {
  const { url } = context;
  const asked = await useRemote(context, { what }, (http, headers) =>
    git.listServerRefs({ http, url, headers, prefix: ref, symrefs: true, protocolVersion: 2 }),
  );
  if (asked.type === 'failed') return asked;
  const found = asked.value.find((each) => each.ref === ref);
  if (found !== undefined) return { type: 'done', value: { commit: found.oid, target: found.target } };
  // To a client that does not speak of SHA-256 such a repository shows nothing.
  const told = await useRemote(context, { what }, (http, headers) => git.getRemoteInfo2({ http, url, headers }));
  if (told.type === 'failed') return told;
  const { value } = told;
  const format = value.protocolVersion === 2 ? value.capabilities['object-format'] : undefined;
  if (format !== 'sha256') return { type: 'done', value: undefined };
  return failed(
    'LocalFailure',
    `${what} failed: the repository is of the SHA-256 kind, which only the git program reads; install git, or set git.adapter of the RelayConfig to native`,
  );
}
