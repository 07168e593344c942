import { sha256 } from '../../model/digest.ts';
import { errorText } from '../../model/error-text.ts';
import type { SourceName } from '../../model/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { FileTree } from '../../ports/file-tree.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import type { Source } from '../../ports/source.ts';
import { createAdmission } from '../tree/admission.ts';
import { createPoller } from '../tree/poller.ts';
import { createTreeReader, type DecodeFile } from '../tree/tree-reader.ts';
import { type FilesLook, takeSnapshotIn } from './files-look.ts';
import { type SettleOptions, type Snapshot, settledSnapshot } from './settled-snapshot.ts';

export interface FilesSourceOptions {
  readonly name: SourceName;
  /** The folder is read anew this often even without an event; 30 unless set. */
  readonly rescanSeconds?: number;
  /** A file enters when it was the same twice, this long apart; 200 unless set. */
  readonly settleMs?: number;
  /** Larger files are unreadable; 16 MiB unless set. */
  readonly maxFileBytes?: number;
}

export interface FilesSourceDeps {
  readonly tree: FileTree;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Following extends FilesLook, FilesSourceDeps {
  readonly settle: SettleOptions;
  readonly trigger: () => void;
  known: Snapshot;
  endWatch: (() => Promise<void>) | undefined;
}

const MAX_SETTLING_LOOKS = 25;
const MAX_TRIES = 5;

/**
 * Follows a plain folder. Events are hints: each one, and the time, makes it read the folder anew. A folder that is
 * gone is trouble, one that is suddenly without manifests waits for a person; neither removes anything.
 */
export function createFilesSource(deps: FilesSourceDeps, options: FilesSourceOptions): Source {
  const { tree, decode, clock, random } = deps;
  const { name } = options;
  const log = deps.log.child({ source: name });
  const maxFileBytes = options.maxFileBytes ?? 16 * 1024 * 1024;
  const reader = createTreeReader({ decode }, { maxFileBytes });
  const describe = (revision: string): string => `${tree.address} with content ${revision.slice(0, 12)}`;
  const admission = createAdmission({ reader }, { name, describe });
  const following: Following = {
    ...deps,
    log,
    reader,
    admission,
    maxFileBytes,
    settle: { settleMs: options.settleMs ?? 200, maxLooks: MAX_SETTLING_LOOKS, maxFileBytes },
    trigger: () => poller.trigger(),
    known: new Map(),
    endWatch: undefined,
  };
  const intervalMs = (options.rescanSeconds ?? 30) * 1000;
  const poller = createPoller(
    { clock, random, look: (signal) => lookOnce(following, signal) },
    { intervalMs, retryMs: Math.min(intervalMs, 1_000), maxRetryMs: intervalMs },
  );
  return {
    name,
    address: tree.address,
    start: (listener, admitted) => {
      admission.start(listener, admitted);
      poller.start();
    },
    trigger: poller.trigger,
    look: poller.look,
    accept: admission.accept,
    read: async (path, blob) => {
      const content = await tree.read(path, maxFileBytes).catch(() => undefined);
      return content?.type === 'read' && sha256(content.bytes) === blob ? content.bytes : undefined;
    },
    stop: async () => {
      await poller.stop();
      await following.endWatch?.();
    },
  };
}

async function lookOnce(following: Following, signal: AbortSignal): Promise<boolean> {
  const { admission, log } = following;
  try {
    // Before the first look, so that what changes after it is noticed.
    following.endWatch ??= await following.tree.watch(following.trigger);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const outcome = await settledSnapshot(following, following.settle, following.known, signal);
      if (outcome.type === 'stopped') return false;
      if (outcome.type === 'failed') {
        // A folder that comes back is another one to the platform's events.
        await endWatch(following);
        log.warn('a folder cannot be read', { reason: outcome.reason, detail: outcome.message });
        admission.failing(outcome.reason, outcome.message);
        return false;
      }
      if (await takeSnapshotIn(following, outcome.snapshot)) {
        following.known = outcome.snapshot;
        return true;
      }
    }
    admission.failing('StillChanging', 'the folder changes faster than it can be read');
    return false;
  } catch (error) {
    if (signal.aborted) return false;
    const message = errorText(error);
    log.error('a source could not be read', { detail: message });
    admission.failing('ReadFailed', message);
    return false;
  }
}

async function endWatch(following: Following): Promise<void> {
  const end = following.endWatch;
  following.endWatch = undefined;
  await end?.();
}
