import { createFileTree } from '../adapters/files/file-tree.ts';
import type { Environment } from '../adapters/git/remote.ts';
import { createMembersReader } from '../adapters/git/work-tree-files.ts';
import { createSystemClock } from '../adapters/system/clock.ts';
import { decoders } from '../domains/decoders.ts';
import { defaultDecodeLimits } from '../manifest/limits.ts';
import { createLocator } from '../manifest/locate.ts';
import type { DecodedFile, SourceDocument } from '../model/fleet/desired.ts';
import type { Diagnostic, Location } from '../model/fleet/diagnostic.ts';
import type { ClusterName } from '../model/fleet/ids.ts';
import { defaultRevisionLimits, excessText } from '../model/limits/revision-limits.ts';
import type { WrittenPath } from '../model/text/field-path.ts';
import { given } from '../model/values/given.ts';
import type { Log } from '../ports/log.ts';
import { IGNORE_FILE, isManifestName } from '../sources/tree/ignore-file.ts';
import { judgedFiles } from '../sources/tree/judge-nodes.ts';
import type { ReadTreeFile } from '../sources/tree/tree-file.ts';
import { emptyTree, readTree } from '../sources/tree/tree-reader.ts';
import type { ConfiguredSource } from './configured-source.ts';
import { openDecoder } from './decoding/decode-with-warnings.ts';

/** A working copy of a repository, read once as a server would read it. */
export interface Checkout {
  /** Absolute. */
  readonly folder: string;
  /** By path relative to the folder, with `/`. */
  readonly files: ReadonlyMap<string, DecodedFile>;
  readonly diagnostics: readonly Diagnostic[];
  /** The source that it is a checkout of; absent: one with all rights. */
  readonly source?: ConfiguredSource;
  /** The position of a document or of a field in it; only the path if the file has changed meanwhile. */
  locate(path: string, identity: string, field?: WrittenPath): Promise<Location>;
}

type Find = ReturnType<typeof createLocator>;

/** Reads all manifests of a folder; of a work tree those that git would commit. Rejects with a text for a person if the folder cannot be listed. */
export async function readCheckout(
  { log, environment = process.env }: { readonly log: Log; readonly environment?: Environment },
  folder: string,
  source?: ConfiguredSource,
): Promise<Checkout> {
  const { limits = defaultRevisionLimits } = source ?? {};
  const readMembers = createMembersReader({ clock: createSystemClock(), environment });
  const tree = createFileTree({ log }, { folder, limits, readMembers });
  const { maxBytes } = defaultDecodeLimits;
  const listing = await tree.list((path) => path === IGNORE_FILE || isManifestName(path));
  if (listing.type === 'failed') throw new Error(`the folder ${folder} cannot be read: ${listing.message}`);
  const changes = listing.entries.map(({ path, kind, size, stamp }) => ({ path, entry: { kind, size, blob: stamp } }));
  const read: ReadTreeFile = async (path) => {
    const content = await tree.read(path, maxBytes);
    if (content.type === 'read') return { bytes: content.bytes };
    if (content.type === 'unreadable') return { reason: content.message };
    return { reason: content.type === 'missing' ? 'is gone since the folder was listed' : 'grew while it was read' };
  };
  const options = { decode: await openDecoder(), read, maxFileBytes: maxBytes, limits };
  const found = await readTree(options, emptyTree, changes);
  if ('excess' in found) throw new Error(`the folder ${folder} ${excessText(found.excess)}`);
  const { nodes, diagnostics } = found.tree;
  const findIn = async (path: string): Promise<Find | undefined> => {
    const content = await tree.read(path, maxBytes);
    return content.type === 'read' ? createLocator(decoders, path, content.bytes) : undefined;
  };
  /** The file of the last question: most questions about a file come together. */
  let last: { readonly path: string; readonly find: Promise<Find | undefined> } | undefined;
  return {
    folder: tree.address,
    files: judgedFiles(nodes),
    diagnostics,
    ...given({ source }),
    locate: async (path, identity, field = []) => {
      if (last?.path !== path) last = { path, find: findIn(path) };
      return (await last.find)?.({ identity, field, part: 'value' })?.at ?? { path };
    },
  };
}

/** The documents of a checkout that satisfy `wanted`, in path order, and how many others their file holds. */
export function documentsOf(
  { files }: Checkout,
  wanted: (document: SourceDocument) => boolean,
): readonly { readonly path: string; readonly document: SourceDocument; readonly others: number }[] {
  return [...files].flatMap(([path, { reading }]) =>
    reading.readable
      ? reading.documents.filter(wanted).map((document) => ({ path, document, others: reading.documents.length - 1 }))
      : [],
  );
}

/** The cluster that a document declares; undefined if it is no KubernetesCluster. */
export function clusterDeclaredIn({ content }: SourceDocument): ClusterName | undefined {
  return content.type === 'declaration' && content.kind === 'KubernetesCluster' ? content.value.name : undefined;
}
