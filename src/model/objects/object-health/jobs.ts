import { objectOf, textOf } from '../../text/json.ts';
import { current, type Found, failed, type Live, NOT_OBSERVED, type Rules, suspended, timeOf } from './health.ts';

export const jobRules: Rules = { 'batch/Job': jobHealth, 'batch/CronJob': cronJobHealth };

function jobHealth({ spec, status, conditionWith }: Live): Found | undefined {
  const failure = conditionWith(['Failed'], 'True');
  if (failure !== undefined) return failed(failure);
  if (conditionWith(['Complete'], 'True') !== undefined) return undefined;
  // The condition `Suspended` stays a while after the Job is resumed.
  if (spec.suspend === true) return suspended('it is suspended');
  // A running Job is current, however long it runs.
  return status.startTime === undefined ? NOT_OBSERVED : undefined;
}

/** A suspended CronJob is current: it exists to make Jobs later, and makes none now on purpose. */
function cronJobHealth({ spec, status }: Live): Found | undefined {
  if (spec.suspend === true) return current('it is suspended');
  const [scheduled, succeeded] = [timeOf(status.lastScheduleTime), timeOf(status.lastSuccessfulTime)];
  if (scheduled === undefined) return undefined;
  if (succeeded === undefined) return current('no job of it has succeeded yet');
  const isRunning = Array.isArray(status.active) && status.active.length > 0;
  if (isRunning || succeeded >= scheduled) return undefined;
  const times = `it made a job at ${textOf(status.lastScheduleTime)}, and the last one succeeded at ${textOf(status.lastSuccessfulTime)}`;
  // Such a Job is deleted when it ends, maybe before its success is counted.
  const { ttlSecondsAfterFinished } = objectOf(objectOf(spec.jobTemplate).spec);
  return ttlSecondsAfterFinished === 0 ? current(times) : failed(times);
}
