import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/model/json.ts';
import { agentFiles } from './deploy/agent-files.ts';
import { monitoringFiles } from './deploy/monitoring-files.ts';
import { withRightsTable } from './deploy/rights-table.ts';
import { relayConfigFields, serverRightsFiles, serverValuesSchema } from './deploy/server-files.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Path below the project → text, of everything under `deploy/` (but the CRDs) that is made from something else. */
export async function generatedDeployFiles(): Promise<ReadonlyMap<string, string>> {
  const text = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
  const json = async (path: string): Promise<JsonObject> => JSON.parse(await text(path)) as JsonObject;
  const relayConfig = await json('schemas/relay-config.json');
  const values = serverValuesSchema({
    own: await json('scripts/deploy/server-values.json'),
    relayConfig,
    fleetPolicy: await json('schemas/fleet-policy.json'),
  });
  const rules = await text('deploy/prometheus/fleetrelay.rules.yaml');
  return new Map([
    ...agentFiles(),
    ...serverRightsFiles(),
    ...monitoringFiles(rules),
    ['deploy/helm/fleetrelay/files/relay-config-fields.yaml', relayConfigFields(relayConfig)],
    ['deploy/helm/fleetrelay/values.schema.json', `${JSON.stringify(values, null, 2)}\n`],
    ['docs/reference/rights.md', withRightsTable(await text('docs/reference/rights.md'))],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  for (const [path, text] of await generatedDeployFiles()) {
    if (text === (await readFile(join(ROOT, path), 'utf8').catch(() => undefined))) continue;
    console.log(`${check ? 'differs from what it is made of' : 'written'}: ${path}`);
    if (check) {
      process.exitCode = 1;
      continue;
    }
    await mkdir(dirname(join(ROOT, path)), { recursive: true });
    await writeFile(join(ROOT, path), text);
  }
}
