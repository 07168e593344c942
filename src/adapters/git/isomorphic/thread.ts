import { parentPort } from 'node:worker_threads';
import { errorText } from '../../../model/text/messages.ts';
import type { GitFailure, GitPublishRequest } from '../../../ports/git-repo.ts';
import { createConnections } from '../../system/connections.ts';
import { failed } from '../failures.ts';
import { copyPath } from '../local-copy.ts';
import type { Environment } from '../remote.ts';
import { createCopyReading } from './copy-reading.ts';
import { createFetching } from './fetching.ts';
import { NeedsHistory } from './history.ts';
import { createPackObjects } from './pack-objects.ts';
import { publishCommit } from './publishing.ts';
import type { RemoteContext } from './remote-calls.ts';

/** What a thread is told first. */
export interface ThreadOptions {
  readonly url: string;
  readonly branch: string | undefined;
  readonly directory: string;
  readonly maxCopyBytes: number;
  readonly deadlineMs: number;
  readonly environment: Environment;
  /** Certificates (PEM) to trust instead of the machine's. */
  readonly ca: string | undefined;
}

/** What a use of the remote is told. */
export interface ThreadUse {
  readonly authorization: string | undefined;
  readonly secrets: readonly string[];
}

type Work = ReturnType<typeof createWork>;
export type ThreadMethod = keyof Work;
export type ThreadResult<Method extends ThreadMethod> = Awaited<ReturnType<Work[Method]>>;
export type ThreadArguments<Method extends ThreadMethod> =
  Parameters<Work[Method]> extends [AbortSignal, ...infer Rest] ? Rest : never;

export type ThreadTask =
  | { readonly start: ThreadOptions }
  | { readonly id: number; readonly method: ThreadMethod; readonly args: readonly unknown[] }
  | { readonly cancel: number };

/** `needsHistory`: `deepen` is to be called first. */
export type ThreadAnswer = { readonly id: number } & (
  | { readonly value: unknown; readonly branch: string | undefined }
  | { readonly needsHistory: true }
  | { readonly error: { readonly name: string; readonly message: string } }
);

/** Does the tasks that the main thread sends, which uses the remote for one of them at a time. */
export function runThread(): void {
  const port = parentPort;
  const running = new Map<number, AbortController>();
  let work: Work | undefined;
  const answer = (sent: ThreadAnswer): void => port?.postMessage(sent);
  const run = async (id: number, method: ThreadMethod, args: readonly unknown[]): Promise<void> => {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      if (work === undefined) throw new Error('the thread was not started');
      const step = work[method] as (signal: AbortSignal, ...rest: readonly unknown[]) => Promise<unknown>;
      answer({ id, value: await step(controller.signal, ...args), branch: await work.branch() });
    } catch (error) {
      if (error instanceof NeedsHistory) answer({ id, needsHistory: true });
      else answer({ id, error: { name: error instanceof Error ? error.name : 'Error', message: errorText(error) } });
    } finally {
      running.delete(id);
    }
  };
  port?.on('message', (task: ThreadTask) => {
    if ('start' in task) work = createWork(task.start);
    else if ('cancel' in task) running.get(task.cancel)?.abort();
    else void run(task.id, task.method, task.args);
  });
}

function createWork({ url, branch, directory, maxCopyBytes, deadlineMs, environment, ca }: ThreadOptions) {
  const repository = copyPath(directory);
  const packs = createPackObjects(repository);
  const { objects } = packs;
  const fetching = createFetching({ directory, maxCopyBytes, branch, deadlineMs, objects: packs });
  const connections = createConnections({ url, environment, ca });
  const reading = createCopyReading(fetching.open, repository, objects);
  const remotely = async <Outcome>(
    signal: AbortSignal,
    use: ThreadUse,
    step: (context: RemoteContext) => Promise<Outcome>,
  ): Promise<Outcome | GitFailure> => {
    try {
      if (reading.isDamaged()) {
        await fetching.clear();
        reading.mended();
      }
      await reading.open();
      return await step({ ...use, signal, url, connections });
    } catch (error) {
      // System calls and the local copy; other errors are defects.
      if (error instanceof Error && (error.name === 'GitCopyError' || 'syscall' in error)) {
        return failed('LocalFailure', error.message);
      }
      throw error;
    } finally {
      reading.changed();
    }
  };
  return {
    ...reading.methods,
    branch: async () => fetching.branch(),
    fetch: (signal: AbortSignal, use: ThreadUse) => remotely(signal, use, fetching.fetch),
    fetchRef: (signal: AbortSignal, use: ThreadUse, ref: string) =>
      remotely(signal, use, (context) => fetching.fetchRef(context, ref)),
    deepen: (signal: AbortSignal, use: ThreadUse) => remotely(signal, use, fetching.deepen),
    publish: (signal: AbortSignal, use: ThreadUse, request: GitPublishRequest) =>
      remotely(signal, use, async (context) => {
        const name = fetching.branch();
        if (name === undefined) return failed('LocalFailure', 'the branch is not known before the first fetch');
        return publishCommit({ ...context, objects, repository, branch: name }, request);
      }),
  };
}
