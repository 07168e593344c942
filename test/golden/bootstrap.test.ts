import { join } from 'node:path';
import { dump } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { bootstrapOf } from '../../src/domains/health/xds/bootstrap/bootstrap.ts';
import { bootstrapRequests } from '../support/bootstraps.ts';

const folder = join(import.meta.dirname, 'bootstrap');

describe('the bootstrap of an Envoy', () => {
  test.each(Object.entries(bootstrapRequests('/etc/fleetrelay')))('%s', async (name, request) => {
    const { bootstrap, warnings } = bootstrapOf(request);
    await expect(dump(bootstrap, { noRefs: true, lineWidth: -1 })).toMatchFileSnapshot(join(folder, `${name}.yaml`));
    expect(warnings).toEqual([]);
  });
});
