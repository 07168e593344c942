import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bootstrapOf } from '../../../src/domains/health/xds/bootstrap/bootstrap.ts';
import { bootstrapRequests } from '../../support/bootstraps.ts';
import { noProgram, programPath } from '../../support/programs.ts';
import { createTestAuthority, DAY_MS } from '../../support/test-authority.ts';

describe.skipIf(noProgram('envoy'))('Envoy accepts a bootstrap', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-bootstraps-'));
  const validate = async (name: string, text: string) => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, text);
    const { stdout, stderr } = await promisify(execFile)(programPath('envoy'), [
      '--mode',
      'validate',
      '-c',
      file,
    ]).catch((error: { readonly stdout: string; readonly stderr: string }) => error);
    return `${stdout}${stderr}`;
  };

  beforeAll(async () => {
    writeFileSync(join(folder, 'token'), 'token\n');
    const { root } = await createTestAuthority(Date.now(), Date.now() + DAY_MS);
    writeFileSync(join(folder, 'ca.crt'), root);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(Object.entries(bootstrapRequests(folder)))('%s', async (name, request) => {
    expect(await validate(name, JSON.stringify(bootstrapOf(request).bootstrap))).toContain('OK');
  });

  test('not one that has a field which Envoy does not know', async () => {
    expect(await validate('wrong', '{"listeners": []}')).toContain('listeners');
  });
});
