declare const rowType: unique symbol

/** SQL that selects rows of type `R`. */
export type Select<R> = string & { readonly [rowType]: R }

type Trimmed<Text extends string> = Text extends
  | ` ${infer Rest}`
  | `\n${infer Rest}`
  | `${infer Rest} `
  | `${infer Rest}\n`
  ? Trimmed<Rest>
  : Text

/** Name of a selected column: `b.scopes` is `scopes`, `b.id as bot_id` is `bot_id`. */
type NameOf<Column extends string> = Column extends `${string} as ${infer Name}` | `${string}.${infer Name}`
  ? NameOf<Name>
  : Trimmed<Column>

type NamesOf<List extends string> = List extends `${infer Column},${infer Rest}`
  ? NameOf<Column> | NamesOf<Rest>
  : NameOf<List>

/** Columns of the last select list that no list of the statement has with all the others; never if one has them all. */
type Lacking<Sql extends string, Columns> = Sql extends `${string}select ${infer List} from ${infer Rest}`
  ? [Exclude<Columns, NamesOf<List>>] extends [never]
    ? never
    : Rest extends `${string}select ${string}`
      ? Lacking<Rest, Columns>
      : Exclude<Columns, NamesOf<List>>
  : Columns

/** Names of all members, also of those that only some types of a union have. */
type MemberOf<R> = R extends unknown ? keyof R : never

type Complete<Sql extends string, R> = [Lacking<Sql, MemberOf<R>>] extends [never]
  ? Sql
  : { readonly 'the select list lacks': Lacking<Sql, MemberOf<R>> }

type Selecting<R, Others> = <const Sql extends string>(sql: Sql & Complete<Sql, R>) => Select<R & Others>

/** Selects columns of rows `R`. The type of a row follows from the list. @param from SQL after `from` */
export const selectingColumns =
  <R>() =>
  <Column extends keyof R & string>(columns: readonly Column[], from: string) =>
    `select ${columns.join(', ')} from ${from}` as Select<Pick<R, Column>>

const selected = (sql: string): Select<never> => sql as Select<never>

/**
 * Marks SQL as a select of rows `R`: `selecting<R>()('select …')` does not compile if the list lacks a column of `R`.
 * @template Others columns of `table.*` and of expressions with their own select, which are not checked
 */
export const selecting = <R, Others = unknown>(): Selecting<R, Others> => selected
