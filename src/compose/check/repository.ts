import { resolve } from 'node:path';
import { displayLocation } from '../../model/diagnostic.ts';
import { systemDeps } from '../kube.ts';
import type { RunIo } from '../options.ts';
import { documentsOf, readCheckout } from '../read-checkout.ts';
import type { Finding } from './finding.ts';

/** What is wrong in a checkout, without any server. A folder that cannot be read is a finding. */
export async function repositoryFindings(folder: string, { cwd }: Pick<RunIo, 'cwd'>): Promise<readonly Finding[]> {
  const checkout = await readCheckout(systemDeps(), resolve(cwd, folder)).catch((error: unknown) => String(error));
  if (typeof checkout === 'string') {
    const what = checkout.replace(/^Error: /, '');
    return [{ severity: 'error', area: 'repository', reason: 'FolderUnreadable', where: folder, what }];
  }
  const found = checkout.diagnostics.map(
    ({ severity, reason, message, hint, at }): Finding => ({
      severity,
      area: 'repository',
      reason,
      where: at === undefined ? folder : displayLocation(at),
      what: message,
      ...(hint === undefined ? {} : { fix: hint }),
    }),
  );
  const clusters = documentsOf(
    checkout,
    ({ content }) => content.type === 'declaration' && content.kind === 'KubernetesCluster',
  );
  if (clusters.length === 0) {
    found.push({
      severity: 'warning',
      area: 'repository',
      reason: 'NoClusters',
      where: folder,
      what: 'no KubernetesCluster is declared here',
      fix: `fleetrelay cluster register NAME --directory ${folder}`,
    });
  }
  const errors = found.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) return found;
  const what = `${checkout.files.size} manifests can be read, ${clusters.length} clusters are declared`;
  return [{ severity: 'ok', area: 'repository', reason: 'RepositoryReadable', where: folder, what }, ...found];
}
