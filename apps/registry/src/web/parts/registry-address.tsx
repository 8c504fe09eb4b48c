import { useSite } from '../site.js';

/**
 * How this registry is reached, in commands: the public URL, or its host alone. Where it is not known, a name that the
 * script replaces by what the browser reached.
 */
export function RegistryAddress({ isHost = false }: { isHost?: boolean }) {
  const { publicUrl } = useSite();
  if (publicUrl !== undefined) return <>{isHost ? new URL(publicUrl).host : publicUrl}</>;
  return (
    <span data-registry={isHost ? 'host' : 'url'}>
      {isHost ? 'registry.example.com' : 'https://registry.example.com'}
    </span>
  );
}
