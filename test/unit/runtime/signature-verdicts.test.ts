import { describe, expect, it } from 'vitest';
import type { FileSignatures } from '../../../src/model/fleet/file-signature.ts';
import { sha256 } from '../../../src/model/text/digest.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { admissionJson, parseAdmission } from '../../../src/runtime/replica/admission.ts';
import { createReplicaWorld, type FakeReplica } from '../../support/replica-world.ts';
import { base } from '../../support/started-world.ts';

const path = 'approvals/mine.yaml';
const approval = `apiVersion: fleetrelay.dev/v1alpha1\nkind: RemovalApproval\nmetadata: {name: mine}\nspec:\n  digest: ${sha256('a')}\n`;
const signatures: FileSignatures = { [path]: { signer: 'alice' }, 'b.yaml': { problem: 'it has no signature' } };

describe('verdicts on signatures', () => {
  it('are in the record of the admission, where what cannot be read is not signed', () => {
    const revision = { revision: 'r1', state: 'complete', signatures } as const;
    const position = { epoch: 1, sequence: 2 };
    const record = { position, engine: 4, open: true, sources: [{ name: 'main', at: position, engine: 4, revision }] };
    const written: JsonValue = JSON.parse(JSON.stringify(admissionJson(record)));
    expect(parseAdmission(written)).toEqual(record);
    const text = JSON.stringify(written).replace('{"signer":"alice"}', '{"signer":7}');
    expect(parseAdmission(JSON.parse(text))?.sources[0]?.revision?.signatures?.[path]).toHaveProperty('problem');
  });

  it("are the same as the leader's at every replica, also if its signers change and no commit comes", async () => {
    const world = await createReplicaWorld();
    const leader = world.leader();
    const [follower = expect.fail('there is no follower')] = world.followers();
    const sourceAt = ({ world: { server } }: FakeReplica) => server.engine.inputs.sources.get('', 'main');
    leader.world.source.signatures = signatures;
    follower.world.source.signatures = { [path]: { problem: 'another replica has no signers' } };
    world.push({ ...base, [path]: approval });
    await world.pass();
    expect([sourceAt(leader)?.signatures, sourceAt(follower)?.signatures]).toEqual([signatures, signatures]);
    leader.world.source.signatures = {};
    world.push({});
    await world.pass();
    expect([sourceAt(leader)?.signatures, sourceAt(follower)?.signatures]).toEqual([{}, {}]);
  });
});
