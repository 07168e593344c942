import { type ObjectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';

/** A document of a file. */
export interface DocumentPlace {
  readonly path: string;
  /** See `SourceDocument.identity`. */
  readonly identity: string;
}

/** A document that declares the same object as one before it. */
export interface Duplicate {
  readonly key: ObjectKey;
  readonly at: DocumentPlace;
  readonly first: DocumentPlace;
  /** How many more objects of its file are in the file of the first one too. */
  readonly others: number;
}

/**
 * Finds documents that declare the same object, where no Placement says that they go to different clusters. Documents of one
 * folder are applied together. Objects of different folders are compared if they state a namespace. Two folders that share
 * several objects, or the name of a file, are variants for other clusters or stages. The order of the files changes nothing.
 */
export function findDuplicates(
  files: readonly { readonly path: string; readonly keys: readonly ObjectKey[] }[],
): readonly Duplicate[] {
  /** The first document of each object in each folder, by key and folder. */
  const known = new Map<ObjectKey, Map<string, DocumentPlace>>();
  const inFolders = new Map<string, number>();
  const pairs: { readonly key: ObjectKey; readonly at: DocumentPlace; readonly first: DocumentPlace }[] = [];
  const repeated = repeatedKeys(files);
  const concerned = files.filter(({ keys }) => keys.some((key) => repeated.has(key)));
  for (const { path, keys } of concerned.sort((a, b) => compareText(a.path, b.path))) {
    const seen = new Map<ObjectKey, number>();
    for (const key of keys) {
      if (!repeated.has(key)) continue;
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      const at = { path, identity: count === 1 ? key : `${key}#${count}` };
      const folders = known.get(key) ?? new Map<string, DocumentPlace>();
      known.set(key, folders);
      const inFolder = folders.get(folderOf(path));
      const [first = inFolder] = inFolder === undefined ? folders.values() : [];
      if (first !== undefined) pairs.push({ key, at, first });
      if (inFolder !== undefined) continue;
      folders.set(folderOf(path), at);
      if (first === undefined) continue;
      const both = `${folderOf(first.path)}\u0000${folderOf(path)}`;
      inFolders.set(both, (inFolders.get(both) ?? 0) + 1);
    }
  }
  const isFault = ({ key, at, first }: (typeof pairs)[number]): boolean => {
    const folders = [folderOf(first.path), folderOf(at.path)] as const;
    if (folders[0] === folders[1]) return true;
    return (
      objectRefOf(key).namespace !== '' &&
      fileOf(first.path) !== fileOf(at.path) &&
      inFolders.get(folders.join('\u0000')) === 1
    );
  };
  const inFiles = Map.groupBy(pairs.filter(isFault), ({ at, first }) => `${first.path}\u0000${at.path}`);
  // Two files with much in common are one mistake.
  return [...inFiles.values()].flatMap((same) => {
    const [one] = same;
    return one === undefined
      ? []
      : one.at.path === one.first.path
        ? same.map(alone)
        : [{ ...one, others: same.length - 1 }];
  });
}

/** The keys that more than one document declares, which are few. */
function repeatedKeys(files: Parameters<typeof findDuplicates>[0]): ReadonlySet<ObjectKey> {
  const known = new Set<ObjectKey>();
  const repeated = new Set<ObjectKey>();
  for (const { keys } of files) for (const key of keys) (known.has(key) ? repeated : known).add(key);
  return repeated;
}

function alone(pair: Omit<Duplicate, 'others'>): Duplicate {
  return { ...pair, others: 0 };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function fileOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
