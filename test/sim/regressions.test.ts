import { expect, test } from 'vitest';
import { playSeed } from './play.ts';

/**
 * Seeds that once failed, and what they found. A change of the simulation changes their histories; the older ones are
 * played as they were found, without what stewards do, or without a hostile agent. Seed 176 has found twice: a replica that looked twice at once when it
 * began went on from what it had not staged.
 */
const REGRESSIONS = [
  { seed: 29, plain: true, found: 'a replica that led again removed the status of all that had not changed meanwhile' },
  { seed: 67, plain: true, found: 'the same, with three servers' },
  { seed: 176, plain: true, found: 'a replica whose turn ended and began anew never published status again' },
  {
    seed: 1392,
    plain: true,
    found: 'what an earlier turn had admitted without the store never got there: followers waited for ever',
  },
  { seed: 261, plain: true, found: 'what two sources declared went while the file of one could not be read' },
  { seed: 292, plain: true, found: 'no fault: a leader that had slept pushed its status while the next one did' },
  // Found after many more steps, see `long/regressions.test.ts`.
  { seed: 5003, plain: true, found: 'an agent that came with more than the leader had admitted was sent nothing' },
  { seed: 5008, plain: true, found: 'the same, at a replica that does not lead' },
  { seed: 20068, found: 'a cluster that was suspended while a removal waited for its count: sending failed' },
  { seed: 30053, found: 'the first commit came before any read: records of missing files were kept for ever' },
  { seed: 40057, found: 'a leader forgot whom it was told to suspend while the store was away' },
  { seed: 40096, found: 'the same of a source' },
  {
    seed: 9131,
    found: 'after the loss of a store and of a disk the removals of that cluster did not count for the fleet',
  },
  { seed: 150119, found: 'no fault: after the loss of a store a removal that waits is not proven, and has no status' },
  {
    seed: 21,
    hostile: 'drawn',
    found: 'no fault: a steward was told that a suspension was made by a server that had ended',
  },
  {
    seed: 161039,
    found: 'no fault: the window of the guards ended, and with it a removal of an older copy of the store',
  },
  {
    seed: 161417,
    hostile: 'drawn',
    found: 'no fault: an agent came back before the delta that was decided for it had left',
  },
  {
    seed: 161531,
    hostile: 'drawn',
    found: 'no fault: a source was suspended again, since the store had failed when it was resumed',
  },
  { seed: 163679, hostile: 'drawn', found: 'no fault: a source was suspended while its revision was being committed' },
  { seed: 163598, found: 'no fault: an agent had died before it wrote that a Namespace was gone' },
  { seed: 163487, found: 'no fault: an agent asked at the moment of the look' },
  { seed: 164039, found: 'no fault: what a cluster owned was looked at after its approved removals had left' },
  { seed: 161862, found: 'a cluster that connected while it was being deregistered stayed registered' },
  {
    seed: 164350,
    hostile: 'drawn',
    found: 'a replica that had led wrote a suspension again that the next leader had resumed',
  },
  {
    seed: 172037,
    found: 'a change of a stored map that was undone before its manifest was written left its record in the store',
  },
  { seed: 201377, found: 'no fault: a server had read results of another one that deleted them a moment later' },
  { seed: 201483, found: 'no fault: a server had started without entries, and had results until its agent connected' },
  {
    seed: 202266,
    hostile: 'drawn',
    found: 'no fault: a delta was computed before a revision was committed by which its removals are held',
  },
  { seed: 205243, found: 'the same' },
  { seed: 205605, found: 'the same, of the first revisions of two sources' },
  { seed: 202739, found: 'no fault: a source was suspended a moment before its next revision was read' },
  {
    seed: 202529,
    found: 'no fault: an agent connected while the commit was open that let removals of another cluster pass',
  },
  { seed: 206460, found: 'no fault: the same, and it had lost what was under way' },
  {
    seed: 203515,
    found: 'no fault: the leader had not heard of new objects, and what had left since was counted as owned twice',
  },
  { seed: 202153, found: 'a deletion was taken for the second attempt of an earlier one whose answer had been lost' },
  {
    seed: 202502,
    found: 'a status that was published during the commit that ended its declaration was remembered for ever',
  },
  { seed: 202783, found: 'the same of a status that was found on the branch during that commit' },
  { seed: 203068, found: 'no fault: a server died at rest before it could write that a source was resumed' },
  {
    seed: 220307,
    hostile: 'drawn',
    found: 'no fault: the touch of an unproven entry changes nothing, and is not planned',
  },
  {
    seed: 221890,
    hostile: 'drawn',
    found: 'a leader wrote a lost registration again over that of a replica which had served the cluster in between',
  },
  {
    seed: 222310,
    hostile: 'drawn',
    found: 'no fault: the store had lost the entries of objects that were sent, and not their results',
  },
  {
    seed: 222855,
    hostile: 'drawn',
    found: 'the log of a cluster was read from the store while the last of it waited for the lease of the cluster',
  },
  { seed: 206447, found: 'a leader that had slept pushed its status again over that of the next one' },
  {
    seed: 205506,
    hostile: 'drawn',
    found: 'no fault: what was sent to a cluster came on top of the most that its agent could claim',
  },
  {
    seed: 7055,
    found: 'no fault: an inventory was written late by an agent that had ended, which real clusters refuse',
  },
  {
    seed: 220919,
    hostile: 'drawn',
    found: 'no fault: an older copy of the store brought back the log of a registration that had ended',
  },
  {
    seed: 222741,
    hostile: 'drawn',
    found: 'a server that died while it ended a registration left the log of it, which the next registration continued',
  },
  { seed: 221140, hostile: 'drawn', found: 'the same, while the store had lost an answer' },
  { seed: 221992, hostile: 'drawn', found: 'no fault: a server died before it had written the end of a registration' },
  {
    seed: 240167,
    hostile: 'drawn',
    found:
      'what was to be deleted with a registration was dropped with the lease of the cluster, while the store was full',
  },
  {
    seed: 240270,
    hostile: 'drawn',
    found: 'a follower deleted a status that was staged and not committed yet, and kept it for ever',
  },
  {
    seed: 240424,
    hostile: 'drawn',
    found:
      'no fault: of two revisions that came at one moment the first had loosened the guards before the next removed',
  },
  {
    seed: 250109,
    hostile: 'drawn',
    found: 'no fault: a server that began counted as owned what had gone while the store could not be written',
  },
  {
    seed: 250299,
    hostile: 'drawn',
    found: 'no fault: two replicas gave one position to deltas while the store could not be written',
  },
  {
    seed: 250316,
    hostile: 'drawn',
    found: 'no fault: a steward heard of a resume before the suspension that had come first',
  },
  {
    seed: 251038,
    hostile: 'drawn',
    found: 'no fault: a replica lost its lease with the store, and could not write what it had sent since',
  },
  {
    seed: 260809,
    hostile: 'drawn',
    found: 'a replica that had slept served a cluster again, wrote its outdated records and continued an outdated log',
  },
  {
    seed: 261119,
    hostile: 'drawn',
    found: 'the input of an agent that arrived right after the end of its registration was kept for ever',
  },
  {
    seed: 270579,
    hostile: 'drawn',
    found: 'no fault: a delta that was on its way when a plan was made was refused, and sent again',
  },
  {
    seed: 271866,
    hostile: 'drawn',
    found: 'the log of an earlier registration was continued, since its deletion was not written yet',
  },
  {
    seed: 281571,
    hostile: 'drawn',
    found: 'a lease that was lost with the store was taken for one that another replica had had',
  },
  {
    seed: 281734,
    hostile: 'drawn',
    found: 'no fault: the turn of a leader ended before it had written that an approval was used',
  },
  {
    seed: 290799,
    hostile: 'drawn',
    found: 'no fault: a delta with a position that was given before a loss of the store never left',
  },
  {
    seed: 293261,
    hostile: 'drawn',
    found: 'no fault: a paused agent had lost the content of a Namespace before it could create it',
  },
  {
    seed: 299223,
    hostile: 'drawn',
    found: 'no fault: the leader could not know yet what an agent had just said to another replica',
  },
  {
    seed: 290265,
    hostile: 'drawn',
    found: 'a server dropped what it had to write of a cluster, since the answer to its request for the lease was lost',
  },
  {
    seed: 294102,
    hostile: 'drawn',
    found: 'no fault: the cluster had refused an object of a person, and its agent had not tried again',
  },
  {
    seed: 6330365,
    hostile: 'drawn',
    found:
      'no fault: while the store was full a server served a cluster without the lease, and could not write its log',
  },
  {
    seed: 6331430,
    hostile: 'drawn',
    found: 'a leader that led again took a record that the store had lost for one that another leader had deleted',
  },
  {
    seed: 7400026,
    hostile: 'drawn',
    found: 'the disk of an agent took no further step after the first one of all whose inventory could not be saved',
  },
  {
    seed: 7500914,
    hostile: 'drawn',
    found: 'a stream whose agent had ended before its hello counted as a refusal',
  },
  {
    seed: 7600977,
    hostile: 'drawn',
    found: 'no fault: a server that could write its store again died before it had written all that waited',
  },
  {
    seed: 7600574,
    hostile: 'drawn',
    found: 'no fault: a server with the lease could not write the full store before another one served the cluster',
  },
  {
    seed: 7610563,
    hostile: 'drawn',
    found: 'no fault: a removal that had passed the guards waited while its source could not be read completely',
  },
  {
    seed: 7600917,
    hostile: 'drawn',
    found: 'no fault: a policy with a longer window was read while its source was suspended, and was not in force yet',
  },
  {
    seed: 7600557,
    hostile: 'drawn',
    found:
      'no fault: the agent of a cluster that is not declared any more started at rest, and applied what it had accepted',
  },
  {
    seed: 7652248,
    hostile: 'drawn',
    found: 'no fault: the window of removals began when they were counted, a second before they left',
  },
  {
    seed: 7701614,
    hostile: 'drawn',
    found:
      'no fault: a leader completed the commit of a revision before it suspended its source, and its answer said so',
  },
  {
    seed: 7900469,
    hostile: 'drawn',
    found: 'a removal that waited for the last delta of a large change went after its guards had been tightened',
  },
  {
    seed: 8400160,
    hostile: 'drawn',
    found: 'the log called a delta accepted that had never left, because the agent held a later one',
  },
  {
    seed: 8400760,
    hostile: 'drawn',
    found: 'a replica released a cluster before it had read its log, and lost what it was to note there',
  },
  { seed: 8402086, hostile: 'drawn', found: 'the same, with two servers' },
  {
    seed: 8500488,
    hostile: 'drawn',
    found: 'no fault: no agent had proven yet that the store is an older copy, which had no outcome of an approval',
  },
  {
    seed: 8500607,
    hostile: 'drawn',
    found: 'a leader took back the registration that it had ended before it could delete the record',
  },
  {
    seed: 8503603,
    hostile: 'drawn',
    found: 'a write of an agent that had ended brought back an object that its successor had removed, for good',
  },
  {
    seed: 8521526,
    hostile: 'drawn',
    found: 'no fault: what had gone since the removals of a large change were judged was counted twice',
  },
  {
    seed: 8522382,
    hostile: 'drawn',
    found: 'a server kept the results that an agent reported after its cluster had been deregistered',
  },
  {
    seed: 8525416,
    hostile: 'drawn',
    found: 'a follower kept the status of an ended declaration whose record was deleted while it committed that end',
  },
  {
    seed: 8555850,
    hostile: 'drawn',
    found: 'no fault: a refusal that its server had not heard counted its removals as owned again',
  },
  { seed: 100083, found: 'no fault: a store that fails for another reason was taken for one that had been written' },
] as const;

test.each<{ seed: number; plain?: boolean; hostile?: 'drawn'; found: string }>(REGRESSIONS)(
  'seed $seed: $found',
  async ({ seed, found: _, ...how }) => {
    expect((await playSeed(seed, { hostile: 'never', ...how })).violations).toEqual([]);
  },
  60_000,
);
