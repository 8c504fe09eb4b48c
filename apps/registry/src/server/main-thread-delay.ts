import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metric, Registry } from 'prom-client';

/** Milliseconds between two measurements. Node counts them as part of the delay. */
const INTERVAL = 10;
/** Upper bounds in seconds. */
const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

const NAME = 'krmhub_main_thread_delay_seconds';

/**
 * Adds a histogram of the time by which work of the main thread, which answers all requests, delays other work. The
 * runtime measures it, so that it costs nothing between two renderings of the metrics.
 */
export function addMainThreadDelay(register: Registry): void {
  const measured = monitorEventLoopDelay({ resolution: INTERVAL });
  measured.enable();
  const description = {
    name: NAME,
    help: 'Time by which work of the main thread delays other work.',
    type: 'histogram',
    aggregator: 'sum',
  };
  // prom-client has no class for a histogram that is counted already.
  const metric = { ...description, get: async () => ({ ...description, values: samples(measured) }) };
  register.registerMetric(metric as unknown as Metric);
}

function samples(measured: IntervalHistogram) {
  const { count, mean } = measured;
  const sum = count === 0 ? 0 : Math.max(0, (mean / 1e9 - INTERVAL / 1_000) * count);
  return [
    ...BUCKETS.map((bound) => ({
      metricName: `${NAME}_bucket`,
      labels: { le: bound },
      value: countUpTo(measured, bound),
    })),
    { metricName: `${NAME}_bucket`, labels: { le: '+Inf' }, value: count },
    { metricName: `${NAME}_sum`, labels: {}, value: sum },
    { metricName: `${NAME}_count`, labels: {}, value: count },
  ];
}

/** Returns how many measurements are at most a bound in seconds, by a search over the percentiles. */
export function countUpTo(
  measured: Pick<IntervalHistogram, 'count' | 'percentile'>,
  boundSeconds: number,
): number {
  const bound = (boundSeconds + INTERVAL / 1_000) * 1e9;
  let least = 0;
  let most = measured.count;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (measured.percentile((100 * middle) / measured.count) <= bound) least = middle;
    else most = middle - 1;
  }
  return least;
}
