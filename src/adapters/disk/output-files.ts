import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Digest } from '../../model/fleet/ids.ts';
import type { OutputPosition } from '../../model/fleet/output.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { canonicalJson } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import type { StoredContents, StoredObject } from '../../ports/agent-disk.ts';
import type { Log } from '../../ports/log.ts';
import { lineOf, openSegment, placeOfContent, type Segment } from './content-segment.ts';
import { syncFolder } from './files.ts';
import { makeFoldersSync } from './folders.ts';
import { FORMAT, type ReadStep, readSteps, type StepHead, stepEntries } from './output-steps.ts';
import { StoredContent } from './stored-content.ts';

const NAME = /^[0-9]{8}$/;
/** A file that is longer gets no further step. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
/** Garbage is collected when the files have this number of bytes more than twice what is needed of them. */
const SLACK_BYTES = 4 * 1024 * 1024;
/** Contents of a smaller step may be used from memory while they are there. */
const SMALL_STEP_BYTES = 1024 * 1024;

/** The snapshot whose contents are needed. */
interface Needed {
  readonly position: OutputPosition;
  readonly digest: Digest;
  readonly objects: ReadonlyMap<ObjectKey, StoredContent>;
  /** What they take on the disk, in bytes. */
  readonly needed: number;
}

/**
 * The files of steps in a folder, in the order of their numbers. A write that rejects leaves everything as it was. A content that
 * the disk cannot read any more is not copied: the map of what was written lacks it, and a log line names it.
 */
export function createOutputFiles({ log }: { readonly log: Log }, folder: string) {
  const segments: Segment[] = [];
  let isDamaged = false;
  const namesIn = (): readonly string[] =>
    readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort();

  /** Writes a step, into a new file if the last one is long or `anew` is true. */
  const write = async (head: StepHead, put: StoredContents, anew = false): Promise<Map<ObjectKey, StoredContent>> => {
    const last = segments.at(-1);
    if (last !== undefined && !anew && last.length() <= SEGMENT_BYTES) return writeTo(log, last, head, put);
    const name = String(Number(namesIn().at(-1) ?? 0) + 1).padStart(8, '0');
    const segment = openSegment(join(folder, name), true);
    try {
      const stored = await writeTo(log, segment, head, put);
      syncFolder(folder);
      segments.push(segment);
      return stored;
    } catch (error) {
      segment.remove();
      throw error;
    }
  };
  const close = (): void => {
    for (const segment of segments.splice(0)) segment.close();
  };

  return {
    write,
    close,
    /** Reads all steps, and drops what a crash has torn. Rejects if a file is damaged. */
    open: async (): Promise<readonly ReadStep[]> => {
      close();
      const steps: ReadStep[] = [];
      for (const name of namesIn()) {
        const segment = openSegment(join(folder, name));
        segments.push(segment);
        const found = await readSteps(segment);
        const end = found.at(-1)?.end ?? 0;
        if (end < segment.length()) segment.truncate(end);
        steps.push(...found);
      }
      return steps;
    },
    /** The next complete snapshot is written into a new folder. */
    damaged: (): void => {
      isDamaged = true;
    },
    /** Whether the last file is there. Throws if another process has replaced it. */
    exist: (): boolean => segments.at(-1)?.exists() === true,
    /** Writes a complete snapshot, and removes everything before it. */
    writeComplete: async (head: StepHead, put: StoredContents): Promise<Map<ObjectKey, StoredContent>> => {
      if (isDamaged) {
        close();
        setAside(folder);
        isDamaged = false;
      }
      makeFoldersSync(folder, { mode: 0o700 });
      const before = namesIn();
      const opened = segments.length;
      const stored = await write(head, put, true);
      for (const segment of segments.splice(0, opened)) segment.close();
      for (const name of before) rmSync(join(folder, name), { force: true });
      syncFolder(folder);
      return stored;
    },
    /**
     * Frees room if the files have more than twice what is needed: copies what is needed of the oldest one to the end, and removes
     * it. One file at a time, so that no step waits for a copy of everything. Nothing needs another snapshot than this one. Does
     * nothing but log a failure: the next call tries again.
     */
    collectGarbage: async (needed: Needed): Promise<void> => {
      try {
        await collectGarbage(segments, write, needed);
      } catch (error) {
        log.warn('outputs that are not needed any more could not be removed; the next step tries again', { error });
      }
    },
  };
}

/** A damaged folder is kept for people; the one before it goes. */
function setAside(folder: string): void {
  const aside = `${folder}.corrupt`;
  rmSync(aside, { recursive: true, force: true });
  renameSync(folder, aside);
}

async function collectGarbage(
  segments: Segment[],
  write: (head: StepHead, put: StoredContents, anew: boolean) => Promise<Map<ObjectKey, StoredContent>>,
  { position, digest, objects, needed }: Needed,
): Promise<void> {
  const total = segments.reduce((sum, each) => sum + each.length(), 0);
  // The oldest, because what a later file drops must not come back from an older one.
  const [oldest] = segments;
  if (oldest === undefined || total <= 2 * needed + SLACK_BYTES) return;
  const kept = new Map([...objects].filter(([, { place }]) => place?.segment === oldest));
  const isLast = oldest === segments.at(-1);
  if (isLast || kept.size > 0) {
    const copies = await write({ position, after: position, digest, drop: [] }, kept, isLast);
    for (const [key, content] of kept) content.moveTo(copies.get(key)?.place);
  }
  segments.shift();
  oldest.remove();
}

async function writeTo(
  log: Log,
  segment: Segment,
  head: StepHead,
  put: StoredContents,
): Promise<Map<ObjectKey, StoredContent>> {
  const stored = new Map<ObjectKey, StoredContent>();
  const format = { line: lineOf(FORMAT) };
  // A content of unknown length may be large.
  const known = put.values().reduce((sum, { content, bytes = Infinity }) => sum + (content?.byteLength ?? bytes), 0);
  const inMemory = known < SMALL_STEP_BYTES ? new WeakRef(put) : undefined;
  function* entries() {
    let at = segment.length();
    if (at === 0) {
      at = placeOfContent(0, format).end;
      yield format;
    }
    for (const { key, ...entry } of stepEntries(head, withBytes(log, put))) {
      const { offset, end } = placeOfContent(at, entry);
      const object = key === undefined ? undefined : put.get(key);
      if (key !== undefined && object !== undefined) {
        const bytes = entry.content?.byteLength ?? 0;
        // A content of the disk says where it was before.
        const written = object instanceof StoredContent ? undefined : inMemory;
        stored.set(key, new StoredContent(key, object.digest, bytes, { segment, offset }, written));
      }
      at = end;
      yield entry;
    }
  }
  await segment.append(entries());
  return stored;
}

/** Each object with its canonical bytes; without those whose bytes the disk cannot read any more. */
function* withBytes(log: Log, put: StoredContents) {
  for (const [key, object] of put) {
    const content = object instanceof StoredContent ? readable(log, object) : bytesOf(object);
    if (content !== undefined) yield { key, digest: object.digest, content };
  }
}

function bytesOf(object: StoredObject): Uint8Array {
  return object.content ?? new TextEncoder().encode(canonicalJson(object.value));
}

function readable(log: Log, content: StoredContent): Uint8Array | undefined {
  try {
    return content.read();
  } catch (error) {
    log.error('a stored output is lost; the server sends it again', { reason: errorText(error) });
    return undefined;
  }
}
