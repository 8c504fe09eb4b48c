import { Fragment } from 'hono/jsx';
import { useSite } from '../site.js';

/** The host of the registry in commands if its public URL is unknown. */
const HOST = 'REGISTRY';
/** The public URL in commands if it is unknown. */
export const UNKNOWN_URL = `https://${HOST}`;

/**
 * Address of this registry in commands: the public URL, or only its host. If it is unknown, a placeholder that the
 * script replaces with the browser's address: a page is the same for all hosts, and the Host header can be forged.
 */
export function RegistryAddress({ isHost = false }: { isHost?: boolean }) {
  const { publicUrl } = useSite();
  if (publicUrl !== undefined) return <>{isHost ? new URL(publicUrl).host : publicUrl}</>;
  return <span data-registry={isHost ? 'host' : 'url'}>{isHost ? HOST : UNKNOWN_URL}</span>;
}

/** A text with the address of this registry in place of `UNKNOWN_URL`. */
export function WithAddress({ text }: { text: string }) {
  return (
    <>
      {text.split(UNKNOWN_URL).map((part, index) => (
        <Fragment>
          {index === 0 ? null : <RegistryAddress />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
