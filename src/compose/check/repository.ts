import { displayLocation } from '../../model/fleet/diagnostic.ts';
import { type Checkout, clusterDeclaredIn, documentsOf } from '../read-checkout.ts';
import { type Found, foundAt } from './finding.ts';

/** `folder` of the checkout is the name that the caller gave. */
export function repository(checkout: Checkout): readonly Found[] {
  const { files, diagnostics, folder } = checkout;
  const clusters = documentsOf(checkout, (document) => clusterDeclaredIn(document) !== undefined).length;
  const isReadable = diagnostics.every(({ severity }) => severity !== 'error');
  const what = `${files.size} manifests can be read, ${clusters} clusters are declared`;
  const fix = `fleetrelay cluster register NAME --checkout ${folder}`;
  return [
    ...foundAt(folder, [[isReadable, 'ok', 'RepositoryReadable', what]]),
    ...diagnostics.map(({ severity, reason, message, hint, at }) => {
      const where = at === undefined ? folder : displayLocation(at);
      return { severity, reason, what: message, fix: hint, where };
    }),
    ...foundAt(folder, [[clusters === 0, 'warning', 'NoClusters', 'no KubernetesCluster is declared here', fix]]),
  ];
}
