import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { KubeClient } from '../../../src/adapters/kubernetes/api/types.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { createFakeApi } from '../../support/kubernetes/fake-api.ts';
import { kubernetesCredentialsContract, secretOf } from './kubernetes.ts';
import { credentials } from './suite.ts';

kubernetesCredentialsContract('API server in memory', async () => {
  const api = createFakeApi();
  api.addNamespace('agent');
  return { client: api.client, namespace: 'agent' };
});

test('an API server that is away is no reason to start anew', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  const client: KubeClient = {
    ...createFakeApi().client,
    request: async () => ({ type: 'unreachable', message: 'connect ECONNREFUSED' }),
  };
  const log = createRecordingLog();
  const store = secretOf({ client, namespace: 'agent' }, folder, log);
  await expect(store.load()).rejects.toThrow(/ECONNREFUSED/);
  await expect(store.save(credentials('a'))).rejects.toThrow(/ECONNREFUSED/);
  expect(log.lines).toEqual([]);
  rmSync(folder, { recursive: true });
});
