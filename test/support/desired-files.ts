import type { Digest } from '../../src/model/fleet/ids.ts';
import { objectKey } from '../../src/model/objects/object-key.ts';
import { sha256 } from '../../src/model/text/digest.ts';
import { decodeFile } from './decode-file.ts';

/** The files of a source, by path. */
export type DesiredFiles = ReadonlyMap<string, string>;

/**
 * What files declare for a cluster, worked out anew and the plain way: object keys, each with the digests of all its
 * declarations. Knows the folder rule and Placements that list names or select everything.
 */
export function declaredFor(files: DesiredFiles, cluster: string): ReadonlyMap<string, ReadonlySet<Digest>> {
  const declared = new Map<string, Set<Digest>>();
  for (const [path, documents] of decodeAll(files)) {
    for (const { content } of documents) {
      if (content.type !== 'object') continue;
      if (!path.startsWith(`clusters/${cluster}/`) && !isPlaced(files, path, cluster)) continue;
      const key = objectKey(content.ref);
      declared.set(key, (declared.get(key) ?? new Set()).add(content.digest));
    }
  }
  return declared;
}

function isPlaced(files: DesiredFiles, path: string, cluster: string): boolean {
  return [...decodeAll(files).values()].flat().some(({ content }) => {
    if (content.type !== 'declaration' || content.kind !== 'Placement') return false;
    const { paths, clusters } = content.value;
    const names: readonly string[] = clusters.names;
    return (clusters.selector !== undefined || names.includes(cluster)) && paths.some((glob) => matches(glob, path));
  });
}

/** `folder/**` and `folder/*.yaml`. */
function matches(glob: string, path: string): boolean {
  const folder = glob.slice(0, glob.indexOf('*'));
  return path.startsWith(folder) && (glob.endsWith('**') || !path.slice(folder.length).includes('/'));
}

/** The file is there and can be read. */
export function isReadable(files: DesiredFiles, path: string): boolean {
  const text = files.get(path);
  return text !== undefined && decode(path, text).reading.readable;
}

/** Every file can be read. */
export function isWhole(files: DesiredFiles): boolean {
  return [...files].every(([path, text]) => decode(path, text).reading.readable);
}

/** The changes that take every unreadable file away and put back which of the needed ones are missing or unreadable. */
export function repairedFiles(files: DesiredFiles, needed: DesiredFiles): Readonly<Record<string, string | null>> {
  const broken = [...files].filter(([path, text]) => !decode(path, text).reading.readable).map(([path]) => path);
  const missing = [...needed].filter(([path]) => !files.has(path) || broken.includes(path));
  return { ...Object.fromEntries(broken.map((path) => [path, null])), ...Object.fromEntries(missing) };
}

function decodeAll(files: DesiredFiles) {
  return new Map(
    [...files].map(([path, text]) => {
      const { reading } = decode(path, text);
      return [path, reading.readable ? reading.documents : []] as const;
    }),
  );
}

function decode(path: string, text: string) {
  return decodeFile(path, new TextEncoder().encode(text), sha256(text));
}
