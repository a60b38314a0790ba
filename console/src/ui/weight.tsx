import { usePermissions } from '../lib/catalog';
import { toFault } from '../lib/fault';
import { _ } from '../lib/i18n';
import { Input } from './form';
import { NumberInput } from './number';

// isWeightOff tells an answer which refuses a weight that a manager can take with a reason.
export const isWeightOff = (e: unknown): boolean => toFault(e).hint.includes('weight_reason');

// WeightOf is what goods of catch weight weigh. Once that was refused as too far off, a manager is asked why it is right.
export function WeightOf({
  value,
  put,
  isOff,
  reason,
  putReason,
}: {
  value: string;
  put: (value: string) => void;
  isOff: boolean;
  reason: string;
  putReason: (reason: string) => void;
}) {
  const role = usePermissions()?.role ?? '';
  const isAsked = isOff && ['owner', 'admin', 'manager'].includes(role);
  return (
    <>
      <NumberInput label={_('Weight in kg')} value={value} put={put} required />
      {isAsked ? <Input label={_('Why this weight is right')} value={reason} put={putReason} /> : null}
    </>
  );
}
