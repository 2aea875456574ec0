interface ChoiceProps<Value> {
  readonly label: string
  readonly options: readonly (readonly [value: Value, label: string, disabled?: boolean])[]
  readonly value: Value
  readonly choose: (value: Value) => void
}

/** A group of buttons, one of which is pressed. */
export function Choice<Value>({ label, options, value, choose }: ChoiceProps<Value>) {
  return (
    <span class="choice" role="group" aria-label={label}>
      {options.map(([it, name, disabled]) => (
        <button type="button" aria-pressed={it === value} disabled={disabled} onClick={() => choose(it)}>
          {name}
        </button>
      ))}
    </span>
  )
}
