import { deserialize, serialize } from 'node:v8';
import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { respondToFrames } from '../workers/isolation/frames.js';

/**
 * Response of the process: a plan, or the fields of a conflict, because an error loses its class between processes.
 */
export type PlanResult =
  | { plan: Exclude<PublishPlan, { outcome: 'conflict' }> }
  | { conflict: { message: string; hint?: string } }
  | { failure: unknown };

respondToFrames((input) => serialize(response(deserialize(input) as PublishInput)));

function response(input: PublishInput): PlanResult {
  try {
    const plan = planPublish(input);
    if (plan.outcome !== 'conflict') return { plan };
    const { message, hint } = plan.error;
    return { conflict: { message, ...defined({ hint }) } };
  } catch (failure) {
    return { failure };
  }
}
