import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { zonePlace } from '../lib/format';
import { _ } from '../lib/i18n';
import { momentOf } from '../lib/zone';
import { Icon } from './icon';

interface Around {
  label: string;
  help?: ComponentChildren;
  wrong?: string;
  required?: boolean;
  whole?: boolean;
}

// Field puts a label, a help and the refusal around a control.
export function Field({
  label,
  help,
  wrong,
  required,
  whole,
  children,
}: Around & {
  children: (ids: {
    id: string;
    'aria-describedby'?: string;
    'aria-invalid'?: boolean;
    required?: boolean;
  }) => ComponentChildren;
}) {
  const id = useId();
  const described = wrong ? `${id}-wrong` : help ? `${id}-help` : undefined;
  return (
    <div class={`field ${whole ? 'whole' : ''}`}>
      <label for={id}>
        {label}
        {required ? <span aria-hidden="true"> *</span> : null}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': wrong ? true : undefined, required })}
      {wrong ? (
        <span class="wrong" id={`${id}-wrong`}>
          <Icon name="alert" size={16} />
          {wrong}
        </span>
      ) : help ? (
        <span class="help" id={`${id}-help`}>
          {help}
        </span>
      ) : null}
    </div>
  );
}

type InputProps = Around &
  Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'label' | 'onInput' | 'value'> & {
    value: string;
    put: (v: string) => void;
    unit?: string;
  };

export function Input({ label, help, wrong, required, whole, unit, put, class: more, ...rest }: InputProps) {
  return (
    <Field {...{ label, help, wrong, required, whole }}>
      {(ids) => {
        const box = (
          <input
            {...rest}
            {...ids}
            class={`input ${(more as string) ?? ''}`}
            onInput={(e) => put(e.currentTarget.value)}
          />
        );
        return unit ? (
          <div class="with-unit">
            {box}
            <span class="unit">{unit}</span>
          </div>
        ) : (
          box
        );
      }}
    </Field>
  );
}

// Moment is a date and a time of day by the clocks of a zone, which it names.
export function Moment({ zone, help, ...rest }: InputProps & { zone: string }) {
  const at = Date.parse(momentOf(rest.value, zone)) || Date.now();
  const place = _('Time in {place}', { place: zonePlace(zone, at) });
  return (
    <Input
      {...rest}
      type="datetime-local"
      help={
        <>
          {help ? <>{help} </> : null}
          {place}
        </>
      }
    />
  );
}

export function Area({
  label,
  help,
  wrong,
  required,
  whole,
  value,
  put,
  rows,
}: Around & { value: string; put: (v: string) => void; rows?: number }) {
  return (
    <Field {...{ label, help, wrong, required, whole }}>
      {(ids) => (
        <textarea {...ids} rows={rows} class="input" value={value} onInput={(e) => put(e.currentTarget.value)} />
      )}
    </Field>
  );
}

export function Select({
  label,
  help,
  wrong,
  required,
  whole,
  value,
  put,
  options,
  disabled,
}: Around & { value: string; put: (v: string) => void; options: [string, string][]; disabled?: boolean }) {
  return (
    <Field {...{ label, help, wrong, required, whole }}>
      {(ids) => (
        <select {...ids} disabled={disabled} class="input" value={value} onChange={(e) => put(e.currentTarget.value)}>
          {options.map(([v, text]) => (
            <option key={v} value={v}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  on,
  put,
  disabled,
}: {
  label: ComponentChildren;
  on: boolean;
  put: (v: boolean) => void;
  disabled?: boolean;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={on} disabled={disabled} onChange={(e) => put(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
