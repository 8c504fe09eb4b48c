import { parentPort } from 'node:worker_threads';
import { type PublishInput, type PublishPlan, planPublish } from '@krmhub/catalog';

/** What a worker answers: a plan whose conflict is spelled out, for an error loses its class on the way. */
export type PlanAnswer =
  | { plan: Exclude<PublishPlan, { outcome: 'conflict' }> }
  | { conflict: { message: string; hint?: string } }
  | { failure: unknown };

parentPort?.on('message', (input: PublishInput) => parentPort?.postMessage(answer(input)));

function answer(input: PublishInput): PlanAnswer {
  try {
    const plan = planPublish(input);
    if (plan.outcome !== 'conflict') return { plan };
    const { message, hint } = plan.error;
    return { conflict: { message, ...(hint === undefined ? {} : { hint }) } };
  } catch (failure) {
    return { failure };
  }
}
