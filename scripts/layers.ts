/** What a layer may import besides itself. */
export interface Layer {
  /** Layers and `generated`; the static test shows that each is used. */
  readonly may: readonly string[];
  /** Modules of Node, when it may import these only and no package. Absent: the linter's other rules decide. */
  readonly node?: readonly string[];
}

/**
 * The layers of `src`, the lowest first, and which of the others each may import. The rules of the linter (`npm run generate`), the
 * static test and the table in ARCHITECTURE.md are made from it or compared with it.
 */
export const LAYERS: Readonly<Record<string, Layer>> = {
  model: { may: [], node: ['node:crypto', 'node:zlib'] },
  ports: { may: ['model'], node: [] },
  api: { may: ['model'], node: [] },
  election: { may: ['model', 'ports'], node: [] },
  http: { may: ['model', 'ports'], node: ['node:http', 'node:net'] },
  manifest: { may: ['model', 'generated'] },
  validation: { may: ['model', 'manifest', 'generated'] },
  engine: { may: ['model'], node: ['node:crypto'] },
  relay: { may: ['model', 'ports', 'generated'] },
  adapters: { may: ['model', 'ports', 'manifest', 'http', 'relay', 'generated'] },
  runtime: { may: ['model', 'ports', 'api', 'engine', 'manifest', 'relay', 'election'] },
  sources: { may: ['model', 'ports', 'manifest', 'relay', 'runtime'] },
  sinks: { may: ['model', 'ports', 'engine', 'relay', 'runtime'] },
  xds: { may: ['model', 'ports', 'generated'] },
  agent: { may: ['model', 'ports', 'relay', 'election'] },
  server: { may: ['model', 'ports', 'api', 'http', 'relay'] },
  compose: {
    may: [
      ...['model', 'ports', 'api', 'election', 'http', 'manifest', 'validation', 'engine', 'relay'],
      ...['adapters', 'runtime', 'sources', 'sinks', 'agent', 'server', 'generated'],
    ],
  },
  cli: { may: ['model', 'ports', 'api', 'http', 'manifest', 'validation', 'server', 'compose'] },
};

/**
 * The domains, in the order of `src/domains/domains.ts`. Each folder of a domain may import what the layer of its name may, of the
 * core and of its own domain, and besides these only the `index.ts` of an earlier domain.
 */
export const DOMAINS: readonly string[] = ['health', 'services', 'care'];

/** The layers that import the lists of domains (`src/domains/*.ts`). The rest of the core imports nothing of `src/domains`. */
export const LISTING_DOMAINS: readonly string[] = ['compose', 'cli'];

/** The folders of domains that have no layer of their name, or may import more than it. */
export const DOMAIN_FOLDERS: Readonly<Record<string, Layer>> = {
  probes: { may: ['model'], node: [] },
  adapters: { may: [...may('adapters'), 'probes'] },
  xds: { may: [...may('xds'), 'http', 'engine', 'relay', 'runtime'] },
  compose: { may: [...may('compose'), 'probes', 'xds'] },
  cli: { may: [...may('cli'), 'probes'] },
};

/** What a folder of a domain may import besides itself and the layer of its name. */
export function domainFolder(folder: string): Layer | undefined {
  return DOMAIN_FOLDERS[folder] ?? LAYERS[folder];
}

function may(layer: string): readonly string[] {
  return LAYERS[layer]?.may ?? [];
}

/** Folders of `src` that import nothing outside themselves. */
export const SELF_CONTAINED: readonly string[] = ['engine/collections'];

/** Folders of a layer that may import generated code alone: the rest of the layer may not. */
export const GENERATED_ONLY_IN: Readonly<Record<string, readonly string[]>> = { adapters: ['adapters/grpc'] };
