import { decoders } from '../../domains/decoders.ts';
import { type DecodeOptions, decodeFile } from '../../manifest/decode-file.ts';
import type { DecodedFile } from '../../model/fleet/desired.ts';
import { parseApiVersion } from '../../model/objects/object-key.ts';
import { textOf } from '../../model/text/json.ts';
import type { DecodeFile } from '../../sources/tree/tree-file.ts';
import { createObjectCheck } from '../../validation/check-object.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../validation/kubernetes-schemas.ts';

/**
 * Opens a decoder of manifests for servers. It warns of what an API server would refuse in objects of the built-in kinds that
 * the newest known Kubernetes has. Nothing of that is an error: a cluster may be newer, and an unreadable file stops the
 * removals of its source.
 */
export async function openDecoder(): Promise<(...file: Parameters<DecodeFile>) => DecodedFile> {
  const kubernetes = await openKubernetesSchemas(newestKubernetesVersion);
  const check = createObjectCheck({ kubernetes });
  const options: DecodeOptions = {
    decoders,
    check: (object) => {
      const parsed = parseApiVersion(textOf(object.apiVersion));
      if (!parsed.ok) return [];
      const { group, version } = parsed.value;
      if (kubernetes.find(group, version, textOf(object.kind)) === undefined) return [];
      const problems = check(object);
      return problems.length === 0 ? problems : problems.map((problem) => ({ ...problem, severity: 'warning' }));
    },
  };
  return (path, bytes, blob) => decodeFile(path, bytes, blob, options);
}
