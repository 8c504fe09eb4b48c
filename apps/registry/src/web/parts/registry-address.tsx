import { useSite } from '../site.js';

/**
 * Address of this registry in commands: the public URL, or only its host. If it is unknown, a placeholder that the
 * script replaces with the browser's address.
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
