import { resolve } from 'node:path';
import { displayLocation } from '../../model/fleet/diagnostic.ts';
import { errorText } from '../../model/text/messages.ts';
import { systemDeps } from '../kube.ts';
import type { RunIo } from '../options.ts';
import { clusterDeclaredIn, documentsOf, readCheckout } from '../read-checkout.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Findings in a checkout. Needs no server; a folder that cannot be read is a finding. */
export async function repositoryFindings(folder: string, { cwd }: Pick<RunIo, 'cwd'>): Promise<readonly Finding[]> {
  const at = { area: 'repository', where: folder } as const;
  const checkout = await readCheckout(systemDeps(), resolve(cwd, folder)).catch(errorText);
  if (typeof checkout === 'string') return findingsOf(at, [[true, 'error', 'FolderUnreadable', checkout]]);
  const { files, diagnostics } = checkout;
  const clusters = documentsOf(checkout, (document) => clusterDeclaredIn(document) !== undefined).length;
  const isReadable = diagnostics.every(({ severity }) => severity !== 'error');
  const fix = `fleetrelay cluster register NAME --checkout ${folder}`;
  return [
    ...findingsOf(at, [
      [
        isReadable,
        'ok',
        'RepositoryReadable',
        `${files.size} manifests can be read, ${clusters} clusters are declared`,
      ],
    ]),
    ...diagnostics.map(({ severity, reason, message, hint, at: place }) => ({
      ...{ severity, area: at.area, reason, what: message, fix: hint },
      where: place === undefined ? folder : displayLocation(place),
    })),
    ...findingsOf(at, [[clusters === 0, 'warning', 'NoClusters', 'no KubernetesCluster is declared here', fix]]),
  ];
}
