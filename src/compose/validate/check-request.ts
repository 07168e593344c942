import { stat } from 'node:fs/promises';
import type { ValidationRequest } from './report.ts';
import { folderOf } from './schemas/schema-locations.ts';

/**
 * Checks that the kubeconfig has the context of the request and that the folders of its schema locations exist, even if no
 * kind needs them. Sends nothing. Rejects with a text for people.
 */
export async function checkRequest({ cluster, schemaLocations = [], cwd, env = {} }: ValidationRequest): Promise<void> {
  for (const location of schemaLocations) {
    const folder = folderOf(location, cwd);
    if (folder === undefined) continue;
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw new Error(`the schema location ${location}: there is no folder ${folder}`);
  }
  if (cluster === undefined) return;
  const { openClient } = await import('../kube.ts');
  const { client } = await openClient(cluster, { cwd, env, version: 'validate' });
  await client.close();
}
