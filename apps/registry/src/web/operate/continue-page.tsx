import { Text } from '../parts/text.js';
import { useSite } from '../site.js';

/**
 * What a browser gets that comes back from a provider. A redirect would belong to the visit from another site, with which
 * browsers do not send the cookie of the session; the next page does not.
 */
export function ContinuePage({ name, to }: { name: string; to: string }) {
  const { at } = useSite();
  return (
    <div class="sign-in">
      <h1>Signed in</h1>
      <p>
        You are signed in as{' '}
        <b>
          <Text value={name} max={100} />
        </b>
        .
      </p>
      <p>
        <a class="button" href={at(to)}>
          Continue
        </a>
      </p>
    </div>
  );
}
