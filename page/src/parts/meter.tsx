/** A small bar: gas used of a limit. */

export function GasMeter({ used, limit, label }: { used: number; limit: number; label: string }) {
  const share = limit ? Math.min(1, used / limit) : 0;
  return (
    <span class="meter" role="img" aria-label={`${label} of the gas limit`} title={`${label} of the gas limit`}>
      <span style={{ width: `${100 * share}%` }} />
    </span>
  );
}
