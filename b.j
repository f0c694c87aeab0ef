line1
{% macro m(x) %}{{ x + tile.row }}{% endmacro %}
  {{ m(1) }}
