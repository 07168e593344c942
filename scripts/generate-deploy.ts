import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import type { JsonObject } from '../src/model/text/json.ts';
import { agentFiles } from './deploy/agent-files.ts';
import { CHARTS, chartReadme } from './deploy/chart-readme.ts';
import { crdsChartFiles } from './deploy/crds-chart.ts';
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
  const files = new Map([
    ...agentFiles(),
    ...serverRightsFiles(),
    ...monitoringFiles(rules),
    ['deploy/helm/fleetrelay/files/relay-config-fields.yaml', relayConfigFields(relayConfig)],
    ['deploy/helm/fleetrelay/values.schema.json', `${JSON.stringify(values, null, 2)}\n`],
    ['docs/reference/rights.md', withRightsTable(await text('docs/reference/rights.md'))],
    ...crdsChartFiles(await definitions()),
  ]);
  for (const name of CHARTS) {
    const folder = `deploy/helm/${name}`;
    const yaml = async (file: string): Promise<JsonObject> => load(await text(`${folder}/${file}`)) as JsonObject;
    const schema = files.get(`${folder}/values.schema.json`) ?? (await text(`${folder}/values.schema.json`));
    const parts = { chart: await yaml('Chart.yaml'), values: await yaml('values.yaml') };
    files.set(`${folder}/README.md`, chartReadme(name, { ...parts, schema: JSON.parse(schema) as JsonObject }));
  }
  return files;
}

/** The CustomResourceDefinitions by name. */
async function definitions(): Promise<ReadonlyMap<string, string>> {
  const folder = join(ROOT, 'deploy/crds');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
  const texts = names.map(async (name) => {
    const [group = '', plural = ''] = name.replace('.yaml', '').split('_');
    return [`${plural}.${group}`, await readFile(join(folder, name), 'utf8')] as const;
  });
  return new Map(await Promise.all(texts));
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
