import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Digest } from '../../model/ids.ts';
import { canonicalJson } from '../../model/json.ts';
import type { ObjectKey } from '../../model/object-key.ts';
import type { OutputPosition } from '../../model/output.ts';
import type { StoredObject } from '../../ports/agent-disk.ts';
import { openSegment, placeOfContent, type Segment } from './content-segment.ts';
import { syncFolder } from './files.ts';
import { makeFoldersSync } from './folders.ts';
import { FORMAT, type ReadStep, readSteps, type StepHead, stepEntries } from './output-steps.ts';
import { StoredContent, sizeOf } from './stored-content.ts';

const NAME = /^[0-9]{8}$/;
/** A file that is longer gets no further step. */
const SEGMENT_BYTES = 64 * 1024 * 1024;
/** Garbage is collected when the files have this number of bytes more than twice what is needed of them. */
const SLACK_BYTES = 4 * 1024 * 1024;
/** Contents of a smaller step may be used from memory while they are there. */
const SMALL_STEP_BYTES = 1024 * 1024;

export type PutObject = StoredObject & { readonly key: ObjectKey };

/** The snapshot whose contents are needed. */
interface Needed {
  readonly position: OutputPosition;
  readonly digest: Digest;
  readonly objects: ReadonlyMap<ObjectKey, StoredContent>;
  /** What they take on the disk, in bytes. */
  readonly needed: number;
}

/** The files of steps in a folder, in the order of their numbers. A write that rejects leaves everything as it was. */
export function createOutputFiles(folder: string) {
  const segments: Segment[] = [];
  let isDamaged = false;
  const namesIn = (): readonly string[] =>
    readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort();

  /** Writes a step, into a new file if the last one is long or `anew` is true. */
  const write = async (
    head: StepHead,
    put: readonly PutObject[],
    anew = false,
  ): Promise<Map<ObjectKey, StoredContent>> => {
    const last = segments.at(-1);
    if (last !== undefined && !anew && last.length() <= SEGMENT_BYTES) return writeTo(last, head, put);
    const name = String(Number(namesIn().at(-1) ?? 0) + 1).padStart(8, '0');
    const segment = openSegment(join(folder, name), true);
    try {
      const stored = await writeTo(segment, head, put);
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
    writeComplete: async (head: StepHead, put: readonly PutObject[]): Promise<Map<ObjectKey, StoredContent>> => {
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
    /** Removes files of which little is needed. Nothing needs another snapshot than this one. */
    collectGarbage: (needed: Needed): Promise<void> => collectGarbage(segments, write, needed),
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
  write: (head: StepHead, put: readonly PutObject[], anew: boolean) => Promise<Map<ObjectKey, StoredContent>>,
  { position, digest, objects, needed }: Needed,
): Promise<void> {
  for (let tries = segments.length; tries > 0; tries -= 1) {
    const total = segments.reduce((sum, each) => sum + each.length(), 0);
    if (total <= 2 * needed + SLACK_BYTES) return;
    const by = Map.groupBy(objects.values(), ({ place }) => place.segment);
    const unneeded = (segment: Segment): number => segment.length() - sizeOf(by.get(segment) ?? []);
    const victim = segments.reduce((most, each) => (unneeded(each) > unneeded(most) ? each : most));
    const kept = by.get(victim) ?? [];
    const head = { position, after: position, digest, drop: [] };
    const copies = await write(head, kept, victim === segments.at(-1));
    for (const [key, { place }] of copies) objects.get(key)?.moveTo(place);
    segments.splice(segments.indexOf(victim), 1);
    victim.remove();
  }
}

async function writeTo(
  segment: Segment,
  head: StepHead,
  put: readonly PutObject[],
): Promise<Map<ObjectKey, StoredContent>> {
  const stored = new Map<ObjectKey, StoredContent>();
  const known = put.reduce((sum, { content, bytes }) => sum + (content?.byteLength ?? bytes ?? 0), 0);
  const byKey = new Map(put.map((object) => [object.key, object]));
  function* entries() {
    let at = segment.length();
    if (at === 0) {
      at = placeOfContent(0, { line: FORMAT }).end;
      yield { line: FORMAT };
    }
    for (const { key, ...entry } of stepEntries(head, withBytes(put))) {
      const { offset, end } = placeOfContent(at, entry);
      const object = key === undefined ? undefined : byKey.get(key);
      if (object !== undefined) {
        const { digest } = object;
        const bytes = entry.content?.byteLength ?? 0;
        const written = known < SMALL_STEP_BYTES ? object : undefined;
        stored.set(object.key, new StoredContent(object.key, digest, bytes, { segment, offset }, written));
      }
      at = end;
      yield entry;
    }
  }
  await segment.append(entries());
  return stored;
}

function* withBytes(put: readonly PutObject[]) {
  for (const object of put) {
    const { key, digest } = object;
    const content = object instanceof StoredContent ? object.read() : object.content;
    yield { key, digest, content: content ?? new TextEncoder().encode(canonicalJson(object.value)) };
  }
}
