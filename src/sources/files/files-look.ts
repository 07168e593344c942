import { sha256, snapshotDigest } from '../../model/digest.ts';
import type { FileTree } from '../../ports/file-tree.ts';
import type { Admission } from '../tree/admission.ts';
import { IGNORE_FILE, type Membership } from '../tree/membership.ts';
import type { ReadTreeFile, TreeChange, TreeReader } from '../tree/tree-reader.ts';
import type { Snapshot } from './settled-snapshot.ts';

/** What taking in a snapshot works with. */
export interface FilesLook {
  readonly tree: FileTree;
  readonly reader: TreeReader;
  readonly admission: Admission;
  readonly maxFileBytes: number;
}

/** Admits or refuses a settled snapshot. False: a file changed again before it was read; take another snapshot. */
export async function takeSnapshotIn(look: FilesLook, snapshot: Snapshot): Promise<boolean> {
  const { admission, reader } = look;
  // A person may accept a waiting revision while this one is being read; it is then read again from there.
  for (;;) {
    let moved = false;
    const read: ReadTreeFile = async (path, entry) => {
      const trouble = snapshot.get(path)?.trouble;
      if (trouble !== undefined) return { reason: trouble };
      const content = await look.tree.read(path, look.maxFileBytes);
      if (content.type === 'read' && sha256(content.bytes) === entry.blob) return { bytes: content.bytes };
      moved = true;
      return { reason: 'changed while it was read' };
    };
    const prepared = await reader.prepare(changesTo(reader, snapshot), read);
    if (moved) return false;
    if (!reader.isCurrent(prepared)) continue;
    const revision = revisionOf(snapshot, prepared.membership);
    if (revision === admission.observed()) admission.synced();
    else if (revision === admission.waiting()) admission.stillRefused();
    else if (prepared.manifests === 0 && hadManifests(look, revision)) {
      const message = `the folder ${look.tree.address} holds no manifest any more`;
      admission.refuse({ revision, prepared }, { reason: 'EmptyTree', message });
    } else {
      admission.enter({ revision, prepared });
      admission.synced();
    }
    return true;
  }
}

/** What an earlier process admitted had manifests, unless it was this very revision. */
function hadManifests({ admission, reader }: FilesLook, revision: string): boolean {
  if (admission.observed() !== undefined) return reader.manifests() > 0;
  const admitted = admission.admitted();
  return admitted !== undefined && admitted !== revision;
}

function changesTo(reader: TreeReader, snapshot: Snapshot): readonly TreeChange[] {
  const changes: TreeChange[] = reader
    .paths()
    .filter((path) => !snapshot.has(path))
    .map((path) => ({ path, entry: null }));
  for (const [path, { kind, blob, size }] of snapshot) {
    if (reader.entryOf(path)?.blob !== blob) changes.push({ path, entry: { kind, blob, size } });
  }
  return changes;
}

/** Names the content of what the source follows: a change of any other file is no new revision. */
function revisionOf(snapshot: Snapshot, membership: Membership): string {
  const followed = [...snapshot].filter(([path]) => path === IGNORE_FILE || membership.follows(path));
  return snapshotDigest(followed.map(([path, { blob }]) => [path, blob] as const));
}
